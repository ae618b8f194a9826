import { type Json, type JsonObject, type ToolEffect, toolEffect, toolName } from '@troupe/protocol';
import { z } from 'zod';
import { argumentProblem, messageOf, schemaProblem } from '../../base/index.ts';
import type { CodeToolContext, StandardSchema } from './define.ts';

/** A function as the process has it, checked. */
export interface CodeFunction {
  name: string;
  description: string;
  inputSchema: JsonObject;
  effect: ToolEffect;
  timeoutMs: number;
  /** The arguments as the function takes them. Throws the sentence that says why they cannot be. */
  read(args: Json): unknown;
  execute(args: unknown, context: CodeToolContext): unknown;
}

/** By their names. */
export type CodeFunctions = ReadonlyMap<string, CodeFunction>;

const shape = z.strictObject({
  name: toolName,
  description: z.string().max(10_000).default(''),
  inputSchema: z
    .custom((value) => typeof value === 'object' || typeof value === 'function', 'is no schema')
    .optional(),
  effect: toolEffect.default('once'),
  timeoutMs: z.number().int().min(1).max(600_000).default(30_000),
  execute: z.custom<CodeFunction['execute']>((value) => typeof value === 'function', 'must be a function'),
});

/** What modules declare. Throws a sentence about the first that cannot be used: whoever starts the process can mend it. */
export function codeFunctions(
  declared: readonly { from: string; tools: readonly unknown[] }[],
): CodeFunctions {
  const functions = new Map<string, CodeFunction>();
  const places = new Map<string, string>();
  for (const { from, tools } of declared) {
    for (const [index, given] of tools.entries()) {
      const one = codeFunction(given, `${from}: tool ${index + 1}`);
      // As names of tools are compared, so that the rows of both cannot be in each other's way.
      const key = one.name.toLowerCase();
      const other = places.get(key);
      if (other !== undefined)
        throw new Error(`${from} declares the tool "${one.name}", which ${other} declares too`);
      places.set(key, from);
      functions.set(one.name, one);
    }
  }
  return functions;
}

function codeFunction(given: unknown, where: string): CodeFunction {
  const { data, error } = shape.safeParse(given);
  const [issue] = error?.issues ?? [];
  const named = nameOf(given, where);
  if (issue) {
    const path = issue.path.join('.');
    throw new Error(path ? `${named}: "${path}" ${issue.message}` : `${named} is no tool: ${issue.message}`);
  }
  const { inputSchema = { type: 'object' }, execute, ...rest } = data!;
  const standard = isStandard(inputSchema) ? inputSchema : null;
  const schema = schemaOf(standard ?? (inputSchema as JsonObject), named);
  return {
    ...rest,
    inputSchema: schema,
    // As a method of what was declared: it may have a state of its own.
    execute: (args, context) => execute.call(given, args, context),
    read: standard ? (args) => readBy(standard, args) : (args) => readByJson(schema, args),
  };
}

function nameOf(given: unknown, where: string): string {
  const name = typeof given === 'object' && given !== null && 'name' in given ? given.name : null;
  return typeof name === 'string' && name !== '' ? `${where} ("${name.slice(0, 100)}")` : where;
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (
    (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema
  );
}

function schemaOf(given: StandardSchema | JsonObject, named: string): JsonObject {
  let schema: JsonObject;
  try {
    schema = plain(isStandard(given) ? written(given) : given);
  } catch (error) {
    throw new Error(`${named}: "inputSchema" cannot be written as JSON Schema: ${messageOf(error)}`);
  }
  const problem = schema.type === 'object' ? schemaProblem(schema) : 'must describe an object';
  if (problem) throw new Error(`${named}: "inputSchema" ${problem}`);
  return schema;
}

/** What a model gives, before defaults and transformations. */
function written(schema: StandardSchema): unknown {
  const { jsonSchema } = schema['~standard'];
  return jsonSchema
    ? jsonSchema.input({ target: 'draft-2020-12' })
    : z.toJSONSchema(schema as unknown as z.core.$ZodType, { io: 'input' });
}

function plain(schema: unknown): JsonObject {
  const { $schema: _, ...rest } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return rest;
}

async function readBy(schema: StandardSchema, args: Json): Promise<unknown> {
  const result = await schema['~standard'].validate(args);
  if (!result.issues) return result.value;
  const told = result.issues.slice(0, 5).map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return place ? `"${place}": ${message}` : message;
  });
  throw new Error(told.join('; '));
}

function readByJson(schema: JsonObject, args: Json): unknown {
  const problem = argumentProblem(schema, args);
  if (problem) throw new Error(problem);
  return args;
}
