import { z } from 'zod';
import { renamed } from './common.ts';
import { json } from './json.ts';
import { DEFAULT_NAMES, inputSchemaOf, type ToolParam } from './networks.ts';

// The tool JSON that others write: `executionType`, `visibility`, `execution`. It becomes a definition and is not kept.

/** Other names of fields, as tool documents in snake case or camel case have them. */
const NAMES = {
  key: 'name',
  display_name: 'displayName',
  provider_type: 'kind',
  providerType: 'kind',
  secret_ref: 'secretRef',
  params_schema: 'paramsSchema',
};

/** `paramsSchema` is a JSON Schema of the arguments, or the list of parameters. */
export function toolSource<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((given) => {
    const named = renamed(NAMES, given);
    const isList = Array.isArray((named as { paramsSchema?: unknown } | null)?.paramsSchema);
    const tool = renamed({ paramsSchema: isList ? 'params' : 'inputSchema' }, named);
    const params = (tool as { params?: unknown } | null)?.params;
    if (!isObject(tool)) return tool;
    const { request, function: code, ...rest } = tool;
    return {
      ...rest,
      // Responses of the server have null for absent fields.
      ...(request == null ? {} : { request }),
      ...(code == null ? {} : { function: code }),
      ...(Array.isArray(params) ? { params: params.map((param) => renamed(DEFAULT_NAMES, param)) } : {}),
    };
  }, schema) as z.ZodType<z.output<Schema>, Answered<z.input<Schema>>>;
}

/** Accepts null for fields that are null in responses of the server. */
type Answered<Input> = {
  [Field in keyof Input]: Field extends 'request' | 'function' ? Input[Field] | null : Input[Field];
};

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

const KIND = { gateway: 'http', external: 'client', space: 'ui', internal: 'static' } as const;

export const sourceFields = {
  /** Instead of `kind`. */
  executionType: z.enum(['gateway', 'external', 'space', 'internal']).optional(),
  /** Instead of `visible`; `result-only` is visible once it has a result, without its input. */
  visibility: z.enum(['visible', 'hidden', 'result-only']).optional(),
  /** Instead of `request`, `output` and `timeoutMs`. */
  execution: z
    .strictObject({
      url: z.string().optional(),
      method: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      body: json.optional(),
      timeout: z.number().optional(),
      output: json.optional(),
    })
    .optional(),
};

interface Given {
  kind?: string | undefined;
  executionType?: keyof typeof KIND | undefined;
  visible?: boolean | undefined;
  visibility?: 'visible' | 'hidden' | 'result-only' | undefined;
  execution?: z.infer<typeof sourceFields.execution>;
  request?: { method?: string; [field: string]: unknown } | undefined;
  output?: unknown;
  effect?: string | undefined;
  inputSchema?: unknown;
  params?: ToolParam[] | null;
  timeoutMs?: number | undefined;
  deadlineMs?: number | undefined;
  display: { showInput: boolean; [field: string]: unknown };
  [field: string]: unknown;
}

/** Both ways of saying it become one; what was left out and depends on the kind is filled in. */
export function fromSource<Source extends object>(source: Source, context: z.RefinementCtx) {
  const { executionType, visibility, execution, ...given } = source as unknown as Given;
  const refuse = (path: string, message: string) => {
    context.addIssue({ code: 'custom', path: path.split('.'), message });
  };
  const kind = executionType ? KIND[executionType] : given.kind;
  if (!kind) refuse('kind', 'is required: http, client, ui, static, echo, mcp, code, network or agent');
  if (executionType && given.kind && given.kind !== kind)
    refuse('kind', `is not what executionType says, ${kind}`);
  if (visibility && given.visible !== undefined)
    refuse('visibility', 'says what `visible` says; give one of them');
  const made = { ...given, kind } as Given;
  if (execution) execute(made, execution, refuse);
  if (kind === 'static' && made.output === undefined) made.output = { status: 'ok' };
  if (kind === 'code' && typeof made.name === 'string') made.function ??= made.name;
  const { method = 'GET' } = made.request ?? {};
  made.inputSchema ??= made.params ? inputSchemaOf(made.params) : { type: 'object' };
  made.effect ??= defaultEffect(String(kind), method);
  made.visible ??= visibility ? visibility !== 'hidden' : kind === 'ui';
  if (visibility === 'result-only') made.display = { ...made.display, when: 'result', showInput: false };
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined));
}

/** Reading again changes nothing, by what the methods mean; a run is begun once however often it is asked for; anything else may. */
export function defaultEffect(kind: string, method: string): 'pure' | 'idempotent' | 'once' {
  if (kind === 'network' || kind === 'agent') return 'idempotent';
  return kind === 'static' || kind === 'echo' || (kind === 'http' && ['GET', 'HEAD'].includes(method))
    ? 'pure'
    : 'once';
}

function execute(
  made: Given,
  { url, method, headers, body, timeout, output }: NonNullable<Given['execution']>,
  refuse: (path: string, message: string) => void,
): void {
  const outside = made.kind === 'client' || made.kind === 'ui';
  if (made.kind === 'http') {
    if (made.request) refuse('execution', 'says what `request` says; give one of them');
    if (output !== undefined) refuse('execution.output', 'is for internal tools');
    const text = typeof body === 'string' ? jsonIn(body) : body;
    made.request = {
      ...(url === undefined ? {} : { url }),
      ...(method === undefined ? {} : { method: method.toUpperCase() }),
      ...(headers === undefined ? {} : { headers }),
      ...(text === undefined ? {} : { body: text }),
    };
  } else {
    for (const [name, value] of Object.entries({ url, method, headers, body }))
      if (value !== undefined) refuse(`execution.${name}`, 'is for gateway tools');
    if (output !== undefined && made.kind !== 'static') refuse('execution.output', 'is for internal tools');
    else if (output !== undefined) made.output = output;
  }
  if (timeout !== undefined) made[outside ? 'deadlineMs' : 'timeoutMs'] ??= timeout;
}

/** A body is often written as JSON within a text; as JSON, what is put into it cannot break it. */
function jsonIn(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return value !== null && typeof value === 'object' ? value : body;
  } catch {
    return body;
  }
}
