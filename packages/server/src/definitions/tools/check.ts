import type { Json, JsonObject, ToolDefinition, ToolRequest } from '@troupe/protocol';
import {
  mapTexts,
  messageOf,
  Refusal,
  schemaProblem,
  type TemplatePart,
  templateOf,
} from '../../base/index.ts';
import { paramIssues } from './params.ts';

interface Issue {
  path: string;
  message: string;
}

/** These are the client's own, or say how the message is framed. */
export const TAKEN_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Everything that can be wrong with a tool beyond its shape is refused here, whichever way it came. */
export function checkTool(definition: ToolDefinition): void {
  const { inputSchema, outputSchema, params } = definition;
  // First, since the schema of the input may be made of them.
  refuseFor(paramIssues(params ?? []).map(({ path, message }) => ({ path: `params.${path}`, message })));
  checkSchema('inputSchema', inputSchema);
  if (outputSchema) checkSchema('outputSchema', outputSchema);
  refuseFor([...kindIssues(definition), ...(definition.request ? requestIssues(definition.request) : [])]);
}

function refuseFor(issues: Issue[]): void {
  const [first] = issues;
  if (!first) return;
  const detail = `The tool cannot be defined so: "${first.path}" ${first.message}.`;
  throw new Refusal('invalid', 'tool_invalid', detail, { issues });
}

function checkSchema(path: 'inputSchema' | 'outputSchema', schema: JsonObject): void {
  const problem =
    path === 'inputSchema' && schema.type !== 'object'
      ? 'must describe an object ("type": "object")'
      : schemaProblem(schema);
  if (!problem) return;
  throw new Refusal('invalid', 'tool_schema_invalid', `The schema cannot be used: ${problem}.`, {
    hint: 'It must be a JSON Schema, draft 2020-12.',
    issues: [{ path, message: problem }],
  });
}

function kindIssues(definition: ToolDefinition): Issue[] {
  const { kind, approval, request, response, output, outputSchema } = definition;
  const { mcp, network, agent, function: named } = definition;
  const outside = kind === 'client' || kind === 'ui';
  const issues: (Issue | false)[] = [
    kind === 'http' && !request && { path: 'request', message: 'is required for an http tool' },
    kind !== 'http' && request !== null && { path: 'request', message: 'is for http tools' },
    kind !== 'http' && response !== null && { path: 'response', message: 'is for http tools' },
    kind === 'mcp' && !mcp && { path: 'mcp', message: 'is required for an mcp tool' },
    kind !== 'mcp' && mcp !== null && { path: 'mcp', message: 'is for mcp tools' },
    kind !== 'static' && output !== null && { path: 'output', message: 'is for static tools' },
    kind === 'code' && named === null && { path: 'function', message: 'is required for a code tool' },
    kind !== 'code' && named !== null && { path: 'function', message: 'is for code tools' },
    !outside && outputSchema !== null && { path: 'outputSchema', message: 'is for client and ui tools' },
    kind === 'network' && !network && { path: 'network', message: 'is required for a network tool' },
    kind !== 'network' && network !== null && { path: 'network', message: 'is for network tools' },
    kind === 'agent' && !agent && { path: 'agent', message: 'is required for an agent tool' },
    kind !== 'agent' && agent !== null && { path: 'agent', message: 'is for agent tools' },
    outside && approval && { path: 'approval', message: 'is not for tools that somebody answers anyway' },
  ];
  return issues.filter((issue) => issue !== false);
}

function requestIssues({ url, method, headers, query, body }: ToolRequest): Issue[] {
  const issues: Issue[] = [];
  const read = (path: string, text: string): TemplatePart[] => {
    try {
      return templateOf(text);
    } catch (error) {
      issues.push({ path, message: messageOf(error) });
      return [];
    }
  };
  read('request.url', url);
  const problem = addressProblem(url);
  if (problem) issues.push({ path: 'request.url', message: problem });
  for (const [name, text] of Object.entries(headers)) {
    if (TAKEN_HEADERS.has(name.toLowerCase()))
      issues.push({ path: `request.headers.${name}`, message: 'is set by Troupe itself' });
    read(`request.headers.${name}`, text);
  }
  for (const [name, text] of Object.entries(query)) read(`request.query.${name}`, String(text));
  if (body === undefined) return issues;
  if (method === 'GET' || method === 'HEAD')
    issues.push({ path: 'request.body', message: `cannot be sent with ${method}` });
  mapTexts(body, (text) => {
    read('request.body', text);
    return text;
  });
  return issues;
}

/** Whom the tool talks to is decided by whoever defines it, never by what a model gives it. */
export function addressProblem(url: string): string | null {
  const [, authority] = /^https?:\/\/([^/\\?#]+)/i.exec(url) ?? [];
  if (authority === undefined) return 'must begin with http:// or https:// and a host';
  if (authority.includes('{{')) return 'must have a fixed scheme, host and port; templates come after them';
  if (!URL.canParse(url)) return 'is no address of the web';
  const { username, password } = new URL(url);
  return username || password ? 'must not hold a user name or a password; use a header' : null;
}

/** `${env.NAME}`, as others write it, means the secret of that name; the environment of the process is nobody's to send. */
export function withSecretNames(request: ToolRequest): ToolRequest {
  const change = (text: string) =>
    text.replaceAll(/\$\{env\.([A-Za-z_][A-Za-z0-9_.-]{0,99})\}/g, '{{secrets.$1}}');
  return mapTexts(request as Json, change) as ToolRequest;
}
