import type { Json, JsonObject } from '@troupe/protocol';

// The little of JSON Schema that the demo model reads in order to fill in arguments.

export function properties(schema: JsonObject): Map<string, JsonObject> {
  const found = Object.hasOwn(schema, 'properties') ? schema.properties : undefined;
  if (!isObject(found)) return new Map();
  return new Map(Object.entries(found).map(([name, property]) => [name, isObject(property) ? property : {}]));
}

export function required(schema: JsonObject): string[] {
  return Array.isArray(schema.required)
    ? schema.required.filter((name): name is string => typeof name === 'string')
    : [];
}

/** The first of `names` that the schema has. */
export function propertyNamed(schema: JsonObject, names: readonly string[]): string | undefined {
  const known = properties(schema);
  return names.find((name) => known.has(name));
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Something of the right type for a property that must be there and that nothing was said about. */
export function placeholder(property: JsonObject, text: string): Json {
  if (property.default !== undefined) return property.default;
  if (Array.isArray(property.enum) && property.enum.length > 0) return property.enum[0]!;
  switch (property.type) {
    case 'boolean':
      return false;
    case 'number':
    case 'integer':
      return 0;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return text;
  }
}
