import { commonProblems, type Endpoint, problemStatus } from '@troupe/protocol';

type Document = Record<string, unknown>;

/** Those of the common problems that an operation can cause; the others happen before a route is found, or are 5xx. */
const NAMES = {
  400: 'BadRequest',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
} as const;
type Status = keyof typeof NAMES;
const STATUSES = Object.keys(NAMES).map(Number) as Status[];

const CONTENT = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

/** What operations refer to. */
export function problemResponses(): Record<string, Document> {
  return {
    ...Object.fromEntries(
      STATUSES.map((status) => [
        NAMES[status],
        { description: commonCodes(status).map(explained).join('\n'), content: CONTENT },
      ]),
    ),
    Problem: { description: 'Any other problem, such as a failure of the server.', content: CONTENT },
  };
}

/** The problems of an operation, by status. A status with codes of its own says which. */
export function problemsOf(endpoint: Endpoint): Record<string, Document> {
  const responses = STATUSES.flatMap((status): [string, Document][] => {
    const own = (endpoint.problems ?? []).filter((code) => problemStatus[code] === status);
    const common = isPossible(endpoint, status) ? commonCodes(status) : [];
    const description = `Codes: ${[...new Set([...own, ...common])].map(quoted).join(', ')}.`;
    if (own.length > 0) return [[String(status), { description, content: CONTENT }]];
    return common.length > 0 ? [[String(status), reference(NAMES[status])]] : [];
  });
  return { ...Object.fromEntries(responses), default: reference('Problem') };
}

function isPossible({ method, params, body }: Endpoint, status: Status): boolean {
  if (status === 404) return params !== undefined;
  if (status === 409) return method === 'POST';
  if (status === 413) return method !== 'GET';
  if (status === 415) return body !== undefined;
  return true;
}

type CommonCode = keyof typeof commonProblems;

function commonCodes(status: Status): CommonCode[] {
  return (Object.keys(commonProblems) as CommonCode[]).filter(
    (code) => commonProblems[code].status === status,
  );
}

function reference(name: string): Document {
  return { $ref: `#/components/responses/${name}` };
}

function explained(code: CommonCode): string {
  return `${quoted(code)}: ${commonProblems[code].meaning}`;
}

function quoted(code: string): string {
  return `\`${code}\``;
}
