import { useState } from 'react';

/** The fields of a form whose text cannot be parsed, such as JSON. Their values are not part of the draft. */
interface InvalidFields {
  any: boolean;
  mark: (field: string, isInvalid: boolean) => void;
  clear: () => void;
}

export function useInvalidFields(): InvalidFields {
  const [fields, setFields] = useState<ReadonlySet<string>>(new Set());
  return {
    any: fields.size > 0,
    mark: (field, isInvalid) =>
      setFields((now) => {
        if (now.has(field) === isInvalid) return now;
        const next = new Set(now);
        if (isInvalid) next.add(field);
        else next.delete(field);
        return next;
      }),
    clear: () => setFields(new Set()),
  };
}
