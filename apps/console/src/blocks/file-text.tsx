import { CodeArea } from './code-area.tsx';
import { Field } from './field.tsx';

/** The text of a file: chosen, or pasted. */
export function FileText({
  value,
  onChange,
  accept,
  placeholder,
  label = 'Text',
  error,
  errorLine = null,
}: {
  value: string;
  onChange: (text: string) => void;
  /** The endings of the files to choose from. */
  accept: string;
  placeholder: string;
  label?: string;
  error?: string | undefined;
  errorLine?: number | null;
}) {
  return (
    <>
      <Field label="File">
        {(ids) => (
          <input
            {...ids}
            type="file"
            accept={accept}
            className="text-sm"
            onChange={async ({ target }) => {
              const file = target.files?.[0];
              if (file) onChange(await file.text());
            }}
          />
        )}
      </Field>
      <Field label={label} error={error}>
        {(ids) => (
          <CodeArea
            {...ids}
            rows={12}
            mostRows={18}
            value={value}
            errorLine={errorLine}
            onChange={onChange}
            placeholder={placeholder}
          />
        )}
      </Field>
    </>
  );
}
