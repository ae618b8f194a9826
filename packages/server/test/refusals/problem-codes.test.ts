import { readdir, readFile } from 'node:fs/promises';
import { allEndpoints, commonProblems, problemStatus } from '@troupe/protocol';
import { expect, it } from 'vitest';
import { statuses } from '../../src/http/problem.ts';
import { problemsOf } from '../../src/http/problem-responses.ts';

/** The kind and code of every refusal that the source states literally. */
async function refusals(): Promise<{ kind: string; code: string }[]> {
  const source = new URL('../../src/', import.meta.url);
  const files = (await readdir(source, { recursive: true })).filter((file) => file.endsWith('.ts'));
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, source), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(/new Refusal\(\s*'(\w+)',\s*'(\w+)'/g)].map(([, kind, code]) => ({
      kind: kind!,
      code: code!,
    })),
  );
}

it('returns every code with the status that the contract gives', async () => {
  const found = await refusals();
  expect(found.length).toBeGreaterThan(100);
  const contract: Record<string, number> = problemStatus;
  // A malformed address is an invalid request with 400; a push reports the others per document, with status 200.
  const exempt = ['invalid_request', 'chat_gone', 'chat_not_found', 'session_id_taken', 'invalid_document'];
  for (const { kind, code } of found) {
    if (exempt.includes(code)) continue;
    expect([code, contract[code]]).toEqual([code, statuses[kind as keyof typeof statuses]]);
  }
});

it('documents the status of every code of an endpoint', () => {
  for (const endpoint of allEndpoints()) {
    const responses = problemsOf(endpoint) as Record<string, { description?: string }>;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '422', 'default']));
    for (const code of endpoint.problems ?? [])
      expect([endpoint.path, responses[problemStatus[code]]?.description]).toEqual([
        endpoint.path,
        expect.stringContaining(`\`${code}\``),
      ]);
  }
});

it('declares every code for at least one endpoint', () => {
  const declared = new Set<string>(allEndpoints().flatMap(({ problems }) => problems ?? []));
  expect(
    Object.keys(problemStatus).filter((code) => !declared.has(code) && !(code in commonProblems)),
  ).toEqual([]);
});
