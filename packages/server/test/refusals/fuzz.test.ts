import { commonProblems, problem } from '@troupe/protocol';
import { isLong, sampleSeed } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { problemsOf } from '../../src/http/problem-responses.ts';
import { type BadRequest, badRequest } from './bad-requests.ts';
import { RefusalFixture } from './fixture.ts';

// Bad requests, made from the contract: of ten thousand a commit sends four thousand, `npm run test:long` all. Numbers begin at the seed:
//   TROUPE_SEED=123     sends the one of that number alone
//   TROUPE_SEEDS=50000  sends so many

const only = process.env.TROUPE_SEED ? Number(process.env.TROUPE_SEED) : null;
const many = only === null ? Number(process.env.TROUPE_SEEDS ?? (isLong ? 10_000 : 2_500)) : 1;
const IN_FLIGHT = 16;

let fixture: RefusalFixture;
beforeAll(async () => {
  fixture = await RefusalFixture.open();
});
afterAll(() => fixture?.close());

/** What is wrong with how a request was answered. */
async function wrongWith(request: BadRequest): Promise<string | null> {
  const { endpoint, path, method, headers, body } = request;
  const init = { method, headers, ...(body === undefined ? {} : { body, duplex: 'half' as const }) };
  const response = await fixture.request(path, init);
  if (!(response.status >= 400 && response.status < 500)) {
    await response.body?.cancel();
    return `answered ${response.status}`;
  }
  const text = await response.text();
  if (response.headers.get('content-type') !== 'application/problem+json') return `is no problem: ${text}`;
  if (response.headers.get('x-content-type-options') !== 'nosniff') return 'may be sniffed';
  if (!response.headers.get('troupe-request-id')) return 'has no number';
  if (response.status === 405 && !response.headers.get('allow')) return 'does not say what is allowed';
  const parsed = problem.safeParse(JSON.parse(text));
  if (!parsed.success) return `is not a problem: ${text}`;
  const { code, status, detail } = parsed.data;
  if (status !== response.status) return `says ${status} and is ${response.status}`;
  const isDeclared = code in commonProblems || endpoint.problems?.some((declared) => declared === code);
  if (!isDeclared) return `has an unknown code: ${code}`;
  // About the address, whatever is behind it; and what another method answers is declared with that.
  if (status !== 414 && method === endpoint.method && !(status in problemsOf(endpoint)))
    return `has an undeclared status: ${status}`;
  if (detail === '' || text.length > 60_000) return `says ${text.length} characters`;
  return null;
}

const show = ({ body, ...request }: BadRequest) =>
  JSON.stringify({
    ...request,
    endpoint: `${request.endpoint.method} ${request.endpoint.path}`,
    body: body instanceof ReadableStream ? 'a stream' : body?.toString(),
  }).slice(0, 1_000);

test(`${many} bad requests are refused, and nothing is stored`, async () => {
  const before = await fixture.picture();
  const failures: string[] = [];
  const kinds = new Map<string, number>();
  const codes = new Set<string>();
  let next = only ?? (isLong ? 1 : 1 + (sampleSeed % 3) * 3_000);
  const end = next + many;
  const send = async () => {
    while (next < end && failures.length < 20) {
      const seed = next++;
      const request = badRequest(seed, fixture);
      kinds.set(request.kind, (kinds.get(request.kind) ?? 0) + 1);
      codes.add(`${request.endpoint.method} ${request.endpoint.path}`);
      const wrong = await wrongWith(request).catch((error: unknown) => `threw ${error}`);
      if (wrong) failures.push(`TROUPE_SEED=${seed} ${wrong}: ${show(request)}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, send));
  expect(failures).toEqual([]);
  expect(fixture.logged).toEqual([]);
  expect(await fixture.picture()).toEqual(before);
  if (only === null) for (const count of kinds.values()) expect(count).toBeGreaterThan(many / 200);

  // And it still works.
  const { agentId, sessionId } = fixture.things;
  const messages = `/v1/agents/${agentId}/sessions/${sessionId}/messages`;
  await fixture.done('POST', messages, { content: { text: 'y' } });
  expect((await fixture.done('GET', messages)).data).toHaveLength(2);
  expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
});
