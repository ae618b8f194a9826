import type { Endpoint } from '@troupe/protocol';
import * as protocol from '@troupe/protocol';
import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;
export type Direction = 'input' | 'output';

const ROOTS = 'roots';
const PREFIX = '#/components/schemas/';

/**
 * The schemas of endpoints as JSON Schema. A schema that `protocol` exports becomes a component under the name of its
 * export; all other schemas stay inline. A component that requests and responses see differently (defaults, unknown
 * fields) exists twice, the request's with the suffix `Input`.
 */
export class Schemas {
  readonly components: Record<string, JsonSchema>;
  readonly #roots: Record<Direction, Map<z.ZodType, JsonSchema>>;

  constructor(endpoints: readonly Endpoint[]) {
    const names = componentNames(endpoints);
    const sent = convert('output', names, endpoints.flatMap(responseSchemas));
    const received = convert('input', names, endpoints.flatMap(requestSchemas));
    const different = differences(sent, received);
    const rename = (name: string) => (different.has(name) ? `${name}Input` : name);
    this.#roots = {
      output: sent.roots,
      input: new Map([...received.roots].map(([schema, json]) => [schema, mapReferences(json, rename)])),
    };
    const components = Object.entries(received.components).map(
      ([name, schema]) => [rename(name), mapReferences(schema, rename)] as const,
    );
    for (const name of different)
      if (rename(name) in sent.components || rename(name) in received.components)
        throw new Error(`Two schemas would be called ${rename(name)}.`);
    this.components = Object.fromEntries(
      [...components, ...Object.entries(sent.components)].sort(([one], [two]) => (one < two ? -1 : 1)),
    );
  }

  /** The schema of a request or a response of one of the endpoints. */
  get(schema: z.ZodType, direction: Direction): JsonSchema {
    const json = this.#roots[direction].get(schema);
    if (!json) throw new Error('The schema does not belong to an endpoint.');
    return json;
  }
}

/** The name of the component that a schema refers to. */
export function referenceIn(schema: JsonSchema): string | null {
  return typeof schema.$ref === 'string' ? schema.$ref.slice(PREFIX.length) : null;
}

function requestSchemas({ params, query, body, bodyAsJson }: Endpoint): z.ZodType[] {
  return [params, query, body, bodyAsJson].filter((schema) => schema !== undefined);
}

function responseSchemas({ response, frames = [] }: Endpoint): z.ZodType[] {
  return [...(response ? [response] : []), ...frames.map(({ schema }) => schema), protocol.problem];
}

function componentNames(endpoints: readonly Endpoint[]): Map<z.ZodType, string> {
  const names = new Map<z.ZodType, string>();
  for (const { name, schema } of endpoints.flatMap(({ frames }) => frames ?? [])) names.set(schema, name);
  for (const [name, value] of Object.entries(protocol)) {
    if (value instanceof z.ZodType && !(value instanceof z.ZodNumber) && !names.has(value))
      names.set(value, name[0]!.toUpperCase() + name.slice(1));
  }
  // The document lists their fields as parameters.
  for (const { params, query } of endpoints)
    for (const schema of [params, query]) if (schema) names.delete(schema);
  return names;
}

interface Converted {
  components: Record<string, JsonSchema>;
  roots: Map<z.ZodType, JsonSchema>;
}

/** Converts the roots, and the components that they refer to. */
function convert(
  io: Direction,
  names: ReadonlyMap<z.ZodType, string>,
  roots: readonly z.ZodType[],
): Converted {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  // Fields of one object, because the registry would turn every schema that it knows into a component.
  const all = z.object(Object.fromEntries(roots.map((schema, index) => [String(index), schema])));
  registry.add(all, { id: ROOTS });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (id) => PREFIX + id,
    override: ({ zodSchema, jsonSchema }) => {
      if ((zodSchema as unknown) === protocol.json) replace(jsonSchema, { description: 'Any JSON.' });
      if (zodSchema instanceof z.ZodRecord) listKeys(zodSchema, jsonSchema);
    },
  });
  const { [ROOTS]: converted, ...components } = schemas as unknown as Record<string, JsonSchema>;
  const { properties } = converted as { properties: Record<string, JsonSchema> };
  const used = reachable(components, Object.values(properties));
  return {
    components: Object.fromEntries(
      [...used].map((name) => {
        const { $schema: _, $id: __, ...schema } = components[name]!;
        return [name, schema];
      }),
    ),
    roots: new Map(roots.map((schema, index) => [schema, properties[String(index)]!])),
  };
}

/** A record whose keys are an enum has exactly these properties; JSON Schema tools expect them to be listed. */
function listKeys(record: z.ZodRecord, json: JsonSchema): void {
  if (!(record.keyType instanceof z.ZodEnum)) return;
  const { propertyNames: _, additionalProperties: value, ...rest } = json;
  const properties = Object.fromEntries(record.keyType.options.map((key) => [key, value]));
  replace(json, { ...rest, properties, additionalProperties: false });
}

function replace(target: JsonSchema, by: JsonSchema): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, by);
}

/** The components that requests and responses share and that differ between them, or refer to one that does. */
function differences({ components: one }: Converted, { components: two }: Converted): Set<string> {
  const shared = Object.keys(one).filter((name) => name in two);
  const found = new Set(shared.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(two[name])));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const name of shared)
      if (referencesIn(two[name]!).some((other) => found.has(other))) found.add(name);
  }
  return found;
}

function reachable(components: Record<string, JsonSchema>, roots: readonly JsonSchema[]): Set<string> {
  const found = new Set<string>();
  const visit = (schema: JsonSchema) => {
    for (const name of referencesIn(schema)) {
      if (found.has(name)) continue;
      found.add(name);
      visit(components[name]!);
    }
  };
  for (const root of roots) visit(root);
  return found;
}

function referencesIn(schema: JsonSchema): string[] {
  const found: string[] = [];
  mapReferences(schema, (name) => {
    found.push(name);
    return name;
  });
  return found;
}

function mapReferences(schema: JsonSchema, rename: (name: string) => string): JsonSchema {
  const map = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(map);
    if (value === null || typeof value !== 'object') return value;
    const reference = referenceIn(value as JsonSchema);
    const mapped = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item)]));
    return reference === null ? mapped : { ...mapped, $ref: PREFIX + rename(reference) };
  };
  return map(schema) as JsonSchema;
}
