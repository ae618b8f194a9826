import { escapeHtml } from './escape-html.ts';
import { referenceIn } from './schemas.ts';

/** As much of JSON Schema as our own schemas use. */
interface Schema {
  $ref?: string;
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

/** A component whose notation is longer than this is written as a link to it. */
const INLINE_CHARACTERS = 100;

/** Writes schemas as HTML in the notation of TypeScript, with bounds and defaults as comments. */
export class Notation {
  readonly #components: Record<string, Schema>;

  constructor(components: Record<string, Schema>) {
    this.#components = components;
  }

  /** With the fields of the component, if the schema refers to one. */
  write(schema: Schema): string {
    return this.#write(this.#resolve(schema), '');
  }

  #resolve(schema: Schema): Schema {
    const name = referenceIn(schema as Record<string, unknown>);
    if (name === null) return schema;
    const { $ref: _, ...own } = schema;
    return { ...this.#components[name]!, ...own };
  }

  #reference(schema: Schema, indent: string): string {
    const name = referenceIn(schema as Record<string, unknown>)!;
    const written = this.#write(this.#components[name]!, indent);
    if (written.length <= INLINE_CHARACTERS && !written.includes('\n')) return written;
    return `<a href="#${name}">${name}</a>`;
  }

  #write(schema: Schema, indent: string): string {
    const all = (parts: Schema[]) => parts.map((part) => this.#write(part, indent));
    if (schema.$ref) return this.#reference(schema, indent);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return all(choices).join(' | ');
    if (schema.allOf) return all(schema.allOf).join(' &amp; ');
    if ('const' in schema) return literal(schema.const);
    if (schema.enum) return schema.enum.map(literal).join(' | ');
    if (Array.isArray(schema.type)) return all(schema.type.map((type) => ({ ...schema, type }))).join(' | ');
    if (schema.type === 'array') return arrayOf(this.#write(schema.items ?? {}, indent));
    if (schema.type === 'object') return this.#object(schema, indent);
    if (schema.type === 'string') return schema.format ?? 'string';
    return schema.type ?? 'any JSON';
  }

  #object(schema: Schema, indent: string): string {
    const inner = `${indent}  `;
    const lines = Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const mark = schema.required?.includes(name) ? '' : '?';
      const about = field.description ? `${inner}// ${escapeHtml(field.description)}\n` : '';
      const remark = escapeHtml(remarkOn(this.#resolve(field)));
      return `${about}${inner}${escapeHtml(name)}${mark}: ${this.#write(field, inner)}${remark}\n`;
    });
    if (lines.length > 0) return `{\n${lines.join('')}${indent}}`;
    const { additionalProperties: values } = schema;
    if (typeof values !== 'object') return '{}';
    return `{ [name]: ${this.#write(values, indent)} }`;
  }
}

function literal(value: unknown): string {
  return escapeHtml(JSON.stringify(value));
}

function arrayOf(item: string): string {
  return item.includes(' | ') && !item.endsWith(')') ? `(${item})[]` : `${item}[]`;
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
