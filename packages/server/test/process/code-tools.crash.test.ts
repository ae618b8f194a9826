import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent, Run, Session, Tool, ToolCall } from '@troupe/protocol';
import { loadCodeTools } from '@troupe/server/parts';
import { createDatabase, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { openCollector, wrongWith } from '../telemetry/collector.ts';
import { after, freePort, Troupe } from './fixture.ts';

/** A folder as a user has one, where `troupe` and zod are installed. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'troupe-tools-'));
  symlinkSync(join(import.meta.dirname, '../../../../node_modules'), join(path, 'node_modules'));
  after(() => rmSync(path, { recursive: true }));
  return path;
}

test('only the worker with the functions takes runs that need them; killed within a call, the run waits for one that has them', async () => {
  const home = folder();
  const [module, book, gate] = [join(home, 'tools.ts'), join(home, 'book'), join(home, 'gate')];
  writeFileSync(book, '');
  writeFileSync(
    module,
    `import { appendFileSync, existsSync } from 'node:fs';
    import { setTimeout as delay } from 'node:timers/promises';
    import { defineTools, tool } from 'troupe';
    import { z } from 'zod';
    const inputSchema = z.object({ n: z.number() });
    async function execute({ n }: { n: number }, { callId, attempt }: { callId: string; attempt: number }) {
      appendFileSync(${JSON.stringify(book)}, JSON.stringify({ n, callId, attempt, pid: process.pid }) + '\\n');
      while (!existsSync(${JSON.stringify(gate)})) await delay(20);
      return { n, attempt };
    }
    export default defineTools([
      tool({ name: 'again', description: 'May be done twice.', effect: 'idempotent', inputSchema, execute }),
      tool({ name: 'once', inputSchema, execute }),
    ]);`,
  );
  const { url: DATABASE_URL, drop } = await createDatabase(inject('postgresUrl'));
  after(drop);
  const TROUPE_BOOTSTRAP_KEY = `tsk_${randomBytes(32).toString('base64url')}`;
  const TROUPE_ENCRYPTION_KEY = `v1:${randomBytes(32).toString('base64')}`;
  const collector = await openCollector();
  after(() => collector.close());
  const sending = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  const env = { DATABASE_URL, TROUPE_ENCRYPTION_KEY, TROUPE_BOOTSTRAP_KEY, ...sending };
  // HTTP comes from a process without them.
  const serve = new Troupe('serve', { ...env, PORT: String(await freePort()) });
  const bare = new Troupe('work', env);
  await Promise.all([serve.ready(), bare.said('working')]);
  const send = async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`http://127.0.0.1:${serve.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${TROUPE_BOOTSTRAP_KEY}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await response.json();
    expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
    return answer as Body;
  };
  await send('POST', '/v1/tools', { name: 'again', kind: 'code', effect: 'idempotent', approval: false });
  await send('POST', '/v1/tools', { name: 'once', kind: 'code' });
  const agent = await send<Agent>('POST', '/v1/agents', { name: 'Ada', tools: ['again', 'once'] });
  const say = async (text: string) => {
    const { id } = await send<Session>('POST', `/v1/agents/${agent.id}/sessions`, {});
    const path = `/v1/agents/${agent.id}/sessions/${id}/messages`;
    return (await send<{ run: Run }>('POST', path, { content: { text } })).run.id;
  };
  const runs = [await say('call again {"n": 1}'), await say('call once {"n": 2}')];
  const runOf = (run: string) => send<Run & { calls: ToolCall[] }>('GET', `/v1/runs/${run}`);
  expect(await runOf(runs[0]!)).toMatchObject({ status: 'queued', waitsForCode: ['again', 'once'] });

  const victim = new Troupe('work', { ...env, TROUPE_TOOLS: module });
  const written = () =>
    readFileSync(book, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { n: number; callId: string; attempt: number; pid: number });
  await until('both calls are made', () => written().length === 2);
  expect(written().map(({ pid }) => pid)).toEqual([victim.pid, victim.pid]);
  const spansOf = (run: string) =>
    collector.spans.filter(({ attributes }) => attributes['troupe.run.id'] === run);
  await until('what the models did is sent', () => runs.every((run) => spansOf(run).length === 1));
  await victim.stop('SIGKILL');
  await until('both runs wait for one that has the functions', async () => {
    const found = await Promise.all(runs.map(runOf));
    return found.every(({ status, waitsForCode }) => status === 'queued' && waitsForCode?.length === 2);
  });

  writeFileSync(gate, '');
  const successor = new Troupe(`dev --tools ${module}`, { ...env, PORT: String(await freePort()) });
  await successor.ready();
  const [again, once] = await Promise.all(
    runs.map((run) =>
      until('the run has ended', async () => {
        const { status, takeovers, calls } = await runOf(run);
        return status === 'completed' ? { takeovers, call: calls[0]! } : null;
      }),
    ),
  );
  expect(again).toMatchObject({ takeovers: 1, call: { status: 'completed', output: { n: 1, attempt: 2 } } });
  expect(once).toMatchObject({ takeovers: 1, call: { status: 'in_doubt' } });
  const [first, second] = written().filter(({ n }) => n === 1);
  expect([second!.callId, second!.attempt, second!.pid]).toEqual([first!.callId, 2, successor.pid]);
  expect(written().filter(({ n }) => n === 2)).toHaveLength(1);
  // One trace, although the first step was begun by a worker that is dead and ended by another.
  for (const run of runs) {
    const spans = await until('the span of the run is sent', () => {
      const found = spansOf(run);
      return found.some(({ name }) => name === 'invoke_agent Ada') ? found : null;
    });
    expect(wrongWith(spans)).toEqual([]);
    const [root, ...more] = spans.filter(({ name }) => name === 'invoke_agent Ada');
    expect(more).toEqual([]);
    expect(root).toMatchObject({
      attributes: { 'troupe.takeover': 1 },
      events: [{ name: 'troupe.resumed' }],
    });
    expect(spans.filter(({ name }) => name.startsWith('step '))).toHaveLength(2);
    expect(spans.filter(({ name }) => name.startsWith('chat '))).toHaveLength(2);
  }
  const called = spansOf(runs[0]!).filter(({ name }) => name === 'execute_tool again');
  expect(called.map(({ attributes }) => attributes['troupe.attempt'])).toEqual([2]);

  // `dev` makes the rows of the first project what the module says.
  const { data } = await send<{ data: Tool[] }>('GET', '/v1/tools?kind=code');
  expect(data.map(({ name, version, description }) => [name, version, description]).sort()).toEqual([
    ['again', 2, 'May be done twice.'],
    ['once', 2, ''],
  ]);
});

test('a module that cannot be used stops the start with a sentence', async () => {
  const home = folder();
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const one = `{ name: 'one', execute: () => 1 }`;
  const cases: [string, RegExp][] = [
    [join(home, 'absent.mjs'), /absent\.mjs cannot be loaded: /],
    [file('thrown.mjs', 'throw new Error("no licence")'), /thrown\.mjs cannot be loaded: no licence/],
    [
      file('named.mjs', `export const tools = [${one}]`),
      /named\.mjs does not export a list of tools by default/,
    ],
    [file('bad.mjs', `export default [{ name: 'b d', execute() {} }]`), /bad\.mjs: tool 1 \("b d"\): "name"/],
    [
      `${file('a.mjs', `export default [${one}]`)},${file('b.mjs', `export default [${one}]`)}`,
      /b\.mjs declares the tool "one", which .*a\.mjs declares too/,
    ],
  ];
  for (const [paths, sentence] of cases)
    await expect(loadCodeTools(paths.split(','))).rejects.toThrow(sentence);
  const started = new Troupe('work', {
    TROUPE_TOOLS: cases[1]![0],
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  });
  expect(await started.exit).toBe(1);
  expect(started.errors).toMatch(
    /^error: The tools cannot be used: .*thrown\.mjs cannot be loaded: no licence\.\n {2}A module exports/,
  );
  expect(started.errors).not.toContain('    at ');
});
