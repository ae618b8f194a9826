import { useState } from 'react';
import { CodeArea, jsonProblem } from './code-area.tsx';
import { Field, type FieldProps } from './field.tsx';

/** JSON as text, kept as one writes it. `onChange` gets the value, or undefined while the text is none. */
export function JsonField({
  value,
  onChange,
  error,
  rows = 4,
  empty,
  ...field
}: FieldProps & {
  value: unknown;
  onChange: (value: unknown, isValid: boolean) => void;
  rows?: number;
  /** What an empty text means; without it, that is no JSON. */
  empty?: unknown;
}) {
  const [text, setText] = useState(() =>
    value === undefined || value === empty ? '' : JSON.stringify(value, null, 2),
  );
  const isEmpty = text.trim() === '' && empty !== undefined;
  const problem = isEmpty ? null : jsonProblem(text);
  return (
    <Field {...field} error={problem?.message ?? error}>
      {(ids) => (
        <CodeArea
          {...ids}
          rows={rows}
          value={text}
          errorLine={problem?.line ?? null}
          onChange={(next) => {
            setText(next);
            if (next.trim() === '' && empty !== undefined) return onChange(empty, true);
            const isValid = jsonProblem(next) === null;
            onChange(isValid ? JSON.parse(next) : undefined, isValid);
          }}
        />
      )}
    </Field>
  );
}
