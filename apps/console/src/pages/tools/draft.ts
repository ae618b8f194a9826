import type { Api } from '@troupe/sdk';
import type { Kind } from './words.ts';

/** A tool as the form has it: every field is there, whatever the kind. */
export interface ToolDraft {
  name: string;
  kind: Kind;
  displayName: string;
  description: string;
  inputSchema: Api.JsonObject;
  /** Empty: what follows from the kind. */
  effect: '' | Api.ToolEffect;
  approval: boolean;
  visible: boolean;
  timeoutMs: number;
  deadlineMs: number;
  outputSchema: Api.JsonObject | null;
  output: Api.Json;
  method: Api.ToolRequest['method'];
  url: string;
  headers: Record<string, string>;
  query: Record<string, string>;
  /** Undefined: the arguments as JSON, or nothing. */
  body: Api.Json | undefined;
  pick: Api.Json | undefined;
  as: Api.ToolResponse['as'];
  /** Empty: none. */
  secretRef: string;
  /** What is run or asked. */
  target: string;
}

export function draftOf(tool: Api.Tool): ToolDraft {
  return {
    name: tool.name,
    kind: tool.kind,
    displayName: tool.displayName ?? '',
    description: tool.description,
    inputSchema: tool.inputSchema,
    effect: tool.effect,
    approval: tool.approval,
    visible: tool.visible,
    timeoutMs: tool.timeoutMs,
    deadlineMs: tool.deadlineMs,
    outputSchema: tool.outputSchema,
    output: tool.output,
    method: tool.request?.method ?? 'GET',
    url: tool.request?.url ?? '',
    headers: tool.request?.headers ?? {},
    query: Object.fromEntries(
      Object.entries(tool.request?.query ?? {}).map(([name, value]) => [name, String(value)]),
    ),
    body: tool.request?.body,
    pick: tool.response?.pick,
    as: tool.response?.as ?? 'auto',
    secretRef: tool.secretRef ?? '',
    target: tool.network?.network ?? tool.agent?.agent ?? '',
  };
}

export function newDraft(kind: Kind): ToolDraft {
  const city = { type: 'string', description: 'A city' };
  const input = { type: 'string', description: 'What is asked' };
  const isRun = kind === 'network' || kind === 'agent';
  return {
    name: '',
    kind,
    displayName: '',
    description: '',
    inputSchema: {
      type: 'object',
      properties: isRun ? { input } : { city },
      required: [isRun ? 'input' : 'city'],
      additionalProperties: false,
    },
    effect: '',
    approval: false,
    visible: kind === 'ui',
    timeoutMs: 30_000,
    deadlineMs: 86_400_000,
    outputSchema: null,
    output: { status: 'ok' },
    method: 'GET',
    url: '',
    headers: {},
    query: {},
    body: undefined,
    pick: undefined,
    as: 'auto',
    secretRef: '',
    target: '',
  };
}

/** What can be sent for a tool of its kind; name and kind only where it is new. */
export function bodyOf(draft: ToolDraft, before: Api.Tool | null) {
  const { kind } = draft;
  const isAnswered = kind === 'client' || kind === 'ui';
  const isFixed = kind === 'mcp' || kind === 'code';
  return {
    displayName: draft.displayName.trim() || null,
    ...(isFixed ? {} : { description: draft.description, inputSchema: draft.inputSchema }),
    ...(draft.effect ? { effect: draft.effect } : {}),
    ...(isAnswered ? {} : { approval: draft.approval }),
    visible: draft.visible,
    timeoutMs: draft.timeoutMs,
    deadlineMs: draft.deadlineMs,
    ...(isAnswered ? { outputSchema: draft.outputSchema } : {}),
    ...(kind === 'static' ? { output: draft.output } : {}),
    ...(kind === 'http'
      ? {
          request: requestOf(draft),
          response: responseOf(draft, before),
          secretRef: draft.secretRef.trim() || null,
        }
      : {}),
    ...(kind === 'network' ? { network: { ...before?.network, network: draft.target } } : {}),
    ...(kind === 'agent' ? { agent: { agent: draft.target } } : {}),
  };
}

function requestOf({ url, method, headers, query, body }: ToolDraft) {
  return { url: url.trim(), method, headers, query, ...(body === undefined ? {} : { body }) };
}

function responseOf({ pick, as }: ToolDraft, before: Api.Tool | null) {
  if (pick === undefined && as === 'auto' && !before?.response) return null;
  const { maxBytes } = before?.response ?? {};
  return {
    ...(maxBytes ? { maxBytes } : {}),
    as,
    ...(pick === undefined ? {} : { pick: pick as string }),
  };
}
