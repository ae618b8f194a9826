import { core } from 'zod';

/**
 * What is wrong with a value, in words that go after the name of its place: `"agents.0.key" must not be empty`. To be given to
 * `safeParse` as `error`: a schema that says itself what is wrong comes first.
 */
export const inWords: core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return `is missing; it must be ${typeOf(issue.expected)}`;
      if (issue.expected === 'int' && typeof issue.input === 'number') return 'must be a whole number';
      return `must be ${typeOf(issue.expected)}, and is ${typeOf(core.util.parsedType(issue.input))}`;
    case 'invalid_value': {
      const values = issue.values.map((value) => JSON.stringify(value) ?? String(value));
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`;
    }
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return sized(issue.origin, Number(issue.minimum), {
        words: issue.exact ? 'exactly' : 'at least',
        beyond: issue.inclusive ? null : 'more than',
      });
    case 'too_big':
      return sized(issue.origin, Number(issue.maximum), {
        words: issue.exact ? 'exactly' : 'at most',
        beyond: issue.inclusive ? null : 'less than',
      });
    case 'invalid_format':
      return formatted(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys': {
      const keys = issue.keys.map((key) => `"${key}"`).join(', ');
      return `has ${keys}, which ${issue.keys.length === 1 ? 'is' : 'are'} not known here`;
    }
    case 'invalid_key':
      // The place is that of the key, so what is wrong with it can be said as of a value.
      return `cannot be a name here: it ${issue.issues[0]?.message ?? 'is not allowed'}`;
    case 'invalid_union': {
      const { options } = issue as { options?: unknown };
      if (Array.isArray(options) && options.length > 0)
        return `must be one of ${options.map((option) => JSON.stringify(option)).join(', ')}`;
      return 'is in none of the forms that it may have';
    }
    case 'invalid_element':
      return 'has an entry that it cannot have';
    default:
      return 'is not allowed to be so';
  }
};

const TYPES: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  date: 'a time',
  null: 'null',
  nan: 'no number',
  undefined: 'left out',
  never: 'left out',
};

function typeOf(name: string): string {
  return TYPES[name] ?? name;
}

const UNITS: Record<string, [one: string, more: string]> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  object: ['entry', 'entries'],
  file: ['byte', 'bytes'],
};

function sized(
  origin: string,
  bound: number,
  { words, beyond }: { words: string; beyond: string | null },
): string {
  const units = UNITS[origin];
  const said = `${beyond ?? words} ${bound}`;
  return units ? `must have ${said} ${units[bound === 1 ? 0 : 1]}` : `must be ${said}`;
}

const FORMATS: Record<string, string> = {
  uuid: 'an id, which is a UUID',
  guid: 'an id, which is a UUID',
  url: 'a URL',
  email: 'an email address',
  datetime: 'a time, such as 2030-01-31T09:00:00Z',
  date: 'a date, such as 2030-01-31',
  base64: 'Base64',
  json_string: 'JSON',
};

function formatted(issue: { format: string; [more: string]: unknown }): string {
  switch (issue.format) {
    case 'starts_with':
      return `must begin with "${issue.prefix}"`;
    case 'ends_with':
      return `must end with "${issue.suffix}"`;
    case 'includes':
      return `must have "${issue.includes}" in it`;
    case 'regex':
      return `must match ${issue.pattern}`;
    default:
      return `must be ${FORMATS[issue.format] ?? `of the format ${issue.format}`}`;
  }
}
