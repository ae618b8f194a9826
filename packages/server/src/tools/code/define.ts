import type { JsonObject, ToolEffect } from '@troupe/protocol';

// What a user writes to make a function of his a tool. The shapes are plain objects: `tool` only gives them their types.

/** What a function is told about the call besides its arguments. */
export interface CodeToolContext {
  projectId: string;
  runId: string;
  threadId: string;
  /** As the model named it, and as the run lists it: of this run alone, and another run may have a call of the same name. */
  callId: string;
  /** The same however often the call is tried, and of no other call: give it to whoever must not do the same thing twice. */
  idempotencyKey: string;
  /** 1 for the first try. */
  attempt: number;
  /** Aborted when the result is of no use any more: the run was canceled, or the time is over. */
  signal: AbortSignal;
  /** A secret of the project. It is hidden in what the function returns and throws. */
  secret(name: string): Promise<string>;
}

/** What zod and others give as a schema: see standardschema.dev. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

type SchemaOf = StandardSchema | JsonObject;
type ArgumentsOf<Schema> = Schema extends StandardSchema<infer Output> ? Output : JsonObject;

export interface CodeTool<Schema extends SchemaOf = SchemaOf> {
  /** As the model calls it, and as rows of tools name the function. */
  name: string;
  description?: string;
  /** A zod schema, or JSON Schema; absent: any object. */
  inputSchema?: Schema;
  /** What may happen where nobody knows whether a call took effect; absent: `once`, never again by itself. */
  effect?: ToolEffect;
  /** How long it may take; absent: 30 seconds. */
  timeoutMs?: number;
  /** What it returns is the result, as JSON. What it throws is told to the model, with its `code` where it has one. */
  execute(args: ArgumentsOf<Schema>, context: CodeToolContext): unknown;
}

/** Gives the arguments of `execute` the types of the schema. */
export function tool<Schema extends SchemaOf>(definition: CodeTool<Schema>): CodeTool<Schema> {
  return definition;
}

/** The same for a list, as a module exports it by default. */
export function defineTools<Tools extends readonly CodeTool[]>(tools: Tools): Tools {
  return tools;
}
