/** What a form needs of a JSON Schema. What it does not know is edited as JSON, so that every schema can be answered. */
export interface Field {
  kind:
    | 'text'
    | 'long'
    | 'number'
    | 'integer'
    | 'boolean'
    | 'choice'
    | 'choices'
    | 'object'
    | 'json'
    | 'const';
  title: string | null;
  description: string | null;
  isRequired: boolean;
  initial: unknown;
  /** Of `choice` and `choices`. */
  options: readonly { value: unknown; label: string }[];
  /** Of `object`. */
  fields: readonly (Field & { name: string })[];
  least?: number | undefined;
  most?: number | undefined;
  format?: string | undefined;
}

type Schema = { [key: string]: unknown };
const DEEPEST = 3;

export function fieldOf(schema: Schema | null | undefined, isRequired = true, depth = 0): Field {
  const given = schema ?? {};
  const field: Field = {
    kind: 'json',
    title: text(given.title),
    description: text(given.description),
    isRequired,
    initial: given.default,
    options: [],
    fields: [],
  };
  const type = typeOf(given);
  const choices = choicesOf(given);
  if ('const' in given) return { ...field, kind: 'const', initial: given.const };
  if (choices) return { ...field, kind: 'choice', options: choices };
  if (type === 'string') {
    const most = number(given.maxLength);
    const isLong = !given.format && !given.pattern && (most === undefined || most > 200);
    return { ...field, kind: isLong ? 'long' : 'text', format: text(given.format) ?? undefined, most };
  }
  if (type === 'number' || type === 'integer') {
    return { ...field, kind: type, least: number(given.minimum), most: number(given.maximum) };
  }
  if (type === 'boolean') return { ...field, kind: 'boolean', initial: given.default ?? false };
  if (type === 'array') {
    const items = choicesOf(object(given.items));
    return items ? { ...field, kind: 'choices', options: items, initial: given.default ?? [] } : field;
  }
  const properties = Object.entries(object(given.properties));
  if (type === 'object' && properties.length > 0 && depth < DEEPEST) {
    const required = Array.isArray(given.required) ? given.required : [];
    const fields = properties.map(([name, inner]) => ({
      ...fieldOf(object(inner), required.includes(name), depth + 1),
      name,
    }));
    // The order of the schema is not kept by whoever stored it; what must be given comes first.
    fields.sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
    return { ...field, kind: 'object', fields };
  }
  return field;
}

/** `["string", "null"]` is a text that may be left out. */
function typeOf({ type }: Schema): string | undefined {
  if (!Array.isArray(type)) return typeof type === 'string' ? type : undefined;
  const types = type.filter((one) => one !== 'null');
  return types.length === 1 ? String(types[0]) : undefined;
}

function choicesOf(schema: Schema): { value: unknown; label: string }[] | null {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, label: labelOf(value) }));
  const either = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(either) || either.length === 0) return null;
  const choices = either.map(object);
  if (!choices.every((choice) => 'const' in choice)) return null;
  return choices.map((choice) => ({
    value: choice.const,
    label: text(choice.title) ?? labelOf(choice.const),
  }));
}

export function labelOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function object(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
const number = (value: unknown) => (typeof value === 'number' ? value : undefined);

/** What a form begins with. */
export function initialOf(field: Field, given?: unknown): unknown {
  if (field.kind === 'object') {
    const known = object(given ?? field.initial);
    return Object.fromEntries(field.fields.map((inner) => [inner.name, initialOf(inner, known[inner.name])]));
  }
  return given === undefined ? field.initial : given;
}

/** What is still wrong, by the path of the field; the server has the last word. */
export function problemsOf(field: Field, value: unknown, path = ''): Map<string, string> {
  const problems = new Map<string, string>();
  if (field.kind === 'object') {
    const known = object(value);
    for (const inner of field.fields) {
      for (const [at, problem] of problemsOf(inner, known[inner.name], `${path}/${inner.name}`))
        problems.set(at, problem);
    }
    return problems;
  }
  if (value instanceof NotYetJson) problems.set(path, value.problem);
  else if (value === undefined || value === '') {
    if (field.isRequired && field.kind !== 'long' && field.kind !== 'const')
      problems.set(path, 'Needs a value');
    else if (field.isRequired && value === undefined) problems.set(path, 'Needs a value');
  } else if (typeof value === 'number') {
    if (Number.isNaN(value)) problems.set(path, 'Needs a number');
    else if (field.kind === 'integer' && !Number.isInteger(value)) problems.set(path, 'Needs a whole number');
    else if (field.least !== undefined && value < field.least) problems.set(path, `At least ${field.least}`);
    else if (field.most !== undefined && value > field.most) problems.set(path, `At most ${field.most}`);
  }
  return problems;
}

/** Text in a field for JSON that is none (yet). */
export class NotYetJson {
  readonly text: string;
  readonly problem: string;
  constructor(text: string, problem: string) {
    this.text = text;
    this.problem = problem;
  }
}

/** Optional fields that were left empty are left out of the answer. */
export function resultOf(field: Field, value: unknown): unknown {
  if (field.kind !== 'object') return value;
  const known = object(value);
  const kept = field.fields.flatMap((inner) => {
    const result = resultOf(inner, known[inner.name]);
    const isLeftOut = result === undefined || (result === '' && !inner.isRequired);
    return isLeftOut ? [] : [[inner.name, result] as const];
  });
  return Object.fromEntries(kept);
}
