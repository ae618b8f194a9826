/** As much of JSON Schema as our own schemas use. */
interface Schema {
  description?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  format?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

/** A schema as people read it: the notation of TypeScript, with bounds and defaults as remarks. */
export function notationOf(schema: Schema, indent = ''): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((choice) => notationOf(choice, indent)).join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => notationOf(part, indent)).join(' & ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => notationOf({ ...schema, type }, indent)).join(' | ');
  if (schema.type === 'array') return arrayOf(notationOf(schema.items ?? {}, indent));
  if (schema.type === 'object') return objectOf(schema, indent);
  if (schema.type === 'string') return schema.format ?? 'string';
  return schema.type ?? 'any JSON';
}

function arrayOf(item: string): string {
  return item.includes(' | ') && !item.endsWith(')') ? `(${item})[]` : `${item}[]`;
}

function objectOf(schema: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const mark = schema.required?.includes(name) ? '' : '?';
    const about = field.description ? `${inner}// ${field.description}\n` : '';
    return `${about}${inner}${name}${mark}: ${notationOf(field, inner)}${remarkOn(field)}\n`;
  });
  if (lines.length > 0) return `{\n${lines.join('')}${indent}}`;
  const { additionalProperties: values } = schema;
  if (typeof values !== 'object') return '{}';
  return `{ [name]: ${notationOf(values, indent)} }`;
}

function remarkOn(field: Schema): string {
  const said = [
    bounds(field.minLength, field.maxLength, 'characters'),
    field.type === 'integer' || field.type === 'number' ? bounds(field.minimum, field.maximum, '') : '',
    field.maxItems === undefined ? '' : `at most ${field.maxItems}`,
    field.default === undefined ? '' : `default ${JSON.stringify(field.default)}`,
  ].filter(Boolean);
  return said.length > 0 ? `   // ${said.join(', ')}` : '';
}

/** Numbers that are bounded only by what a number can be are not. */
function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  const low = least !== undefined && least > Number.MIN_SAFE_INTEGER ? least : undefined;
  const high = most !== undefined && most < Number.MAX_SAFE_INTEGER ? most : undefined;
  if (low === undefined && high === undefined) return '';
  const range =
    high === undefined ? `${low} or more` : `${low ?? ''}${low === undefined ? 'up to ' : ' to '}${high}`;
  return `${range} ${unit}`.trim();
}
