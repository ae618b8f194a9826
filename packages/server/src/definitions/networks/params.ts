import {
  inputSchemaOf,
  type Json,
  type JsonObject,
  type SnapshotParam,
  type ToolParam,
} from '@troupe/protocol';

/** Who gives which parameter of a tool, and what of it a model is shown. */
export interface Parameters {
  params: SnapshotParam[];
  /** Of what the agent gives, and nothing else: what a call is checked against. */
  inputSchema: JsonObject;
}

/** Where nobody said who gives what, the agent gives all, and the schema stays as it is with everything that it says beyond its properties. */
export function parametersOf(inputSchema: JsonObject, given: readonly ToolParam[] | null): Parameters {
  const properties = objectIn(inputSchema, 'properties');
  if (given === null) {
    const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : []);
    const params = Object.keys(properties).map((name) => ({
      name,
      source: 'agent' as const,
      required: required.has(name),
      schema: schemaOf(properties[name]),
    }));
    return { params, inputSchema };
  }
  const params = given.map((param) => completed(param, properties));
  // Schemas of parameters may refer to them.
  const { $defs } = inputSchema;
  return { params, inputSchema: { ...inputSchemaOf(params), ...($defs === undefined ? {} : { $defs }) } };
}

/** A parameter without a schema has that of the tool's property of its name. */
function completed(param: ToolParam, properties: JsonObject): SnapshotParam {
  const { name, source, required, schema } = param;
  const own = Object.keys(schema).length > 0 || !Object.hasOwn(properties, name);
  return {
    name,
    source,
    required,
    ...(param.defaultValue === undefined ? {} : { defaultValue: param.defaultValue }),
    schema: own ? schema : schemaOf(properties[name]),
  };
}

/** A schema may be a boolean: `true` takes anything, `false` nothing. */
function schemaOf(value: Json | undefined): JsonObject {
  if (value === false) return { not: {} };
  return isObject(value) ? value : {};
}

function objectIn(value: JsonObject, key: string): JsonObject {
  const found = value[key];
  return isObject(found) ? found : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
