import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '@troupe/server';
import { createDemo, createProviders, openOutgoing } from '@troupe/server/parts';
import { createDatabase, noMcp, until } from '@troupe/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { silentLogger } from '../../src/base/index.ts';
import { readConfig } from '../../src/config/index.ts';
import { sessionsDoor } from '../../src/doors/sessions/index.ts';
import { Life } from '../../src/process/life.ts';
import type { Program } from '../../src/process/program.ts';
import { ProviderRows } from '../../src/process/provider-rows.ts';
import { serve } from '../../src/process/serve.ts';
import { work } from '../../src/process/work.ts';
import { createTools } from '../../src/tools/index.ts';
import { chat } from '../models/wire/formats.ts';
import { stream, WireServer } from '../models/wire/server.ts';
import { Client } from '../stream/client.ts';

// `serve` and `work` as they are composed for production, a key, a provider of models over HTTP: what does a turn cost?

const TURNS = 6;
/** What a process does all the time, turn or no turn: hearts, looks at others, jobs, and who reads what. */
const BACKGROUND = new Set([
  'beat',
  'held_by',
  'rowless_holders',
  'lock_holders',
  'sweep',
  'trigger_work',
  'expire_unclaimed',
  'uptime',
  'last_events',
  'jobs',
  'watch',
]);
const POLL_MS = 250;

interface Sent {
  name: string;
  /** How many rows it found; null until it is answered. */
  found: number | null;
}

let statements: Sent[] = [];
const query = pg.Client.prototype.query;
const closing: (() => unknown)[] = [];
let wire: WireServer;
let port: number;
const key = randomBytes(32).toString('hex');

// Every connection of both sends through here, whatever it is for.
function listen(): void {
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const sent: Sent = { name: nameOf(given[0] as Named | string), found: null };
    statements.push(sent);
    const answered = (result?: { rowCount: number | null } | null) => {
      sent.found = result?.rowCount ?? -1;
    };
    const done = given.at(-1);
    if (typeof done === 'function') {
      given[given.length - 1] = (error: unknown, result?: { rowCount: number | null }) => {
        answered(result);
        done(error, result);
      };
    }
    const promise = (query as (...all: unknown[]) => unknown).apply(this, given);
    if (promise instanceof Promise) promise.then(answered, () => answered());
    return promise;
  } as typeof query;
}

interface Named {
  name?: string;
  text: string;
  values?: unknown[];
}

function nameOf(statement: Named | string): string {
  const { name, text, values } = typeof statement === 'string' ? ({ text: statement } as Named) : statement;
  if (text.includes('graphile_worker')) return 'jobs';
  if (name !== 'notify') return name ?? text;
  const { from: _, ...said } = JSON.parse(String(values![1])) as Record<string, unknown>;
  // Once a second, for as long as somebody reads.
  return Object.keys(said).join() === 'watch' ? 'watch' : `notify ${Object.keys(said).join('+')}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return free;
}

beforeAll(async () => {
  const database = await createDatabase(inject('postgresUrl'));
  closing.push(() => database.drop());
  wire = await WireServer.open();
  closing.push(() => wire.close());
  port = await freePort();
  const config = readConfig({
    DATABASE_URL: database.url,
    PORT: String(port),
    TROUPE_BOOTSTRAP_KEY: key,
    TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
  });
  const programOf = (name: string): Program => {
    const providers = new ProviderRows();
    const life = new Life(silentLogger);
    const place: Program['place'] = { origins: [], database: null };
    closing.push(() => life.stop());
    return {
      name,
      version: '0',
      config,
      logger: silentLogger,
      life,
      doors: () => [sessionsDoor],
      models: createProviders(providers, { named: { demo: () => createDemo() }, keys: config.modelKeys }),
      providers,
      outgoing: openOutgoing(() => place.database!),
      place,
      tools: () => createTools(),
      mcp: () => noMcp,
      functions: new Map(),
      tasks: {},
      crontab: [],
    };
  };
  await serve(programOf('serve'));
  await work(programOf('work'));
});
afterEach(() => {
  pg.Client.prototype.query = query;
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function ask<Body = { id: string }>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      // As the SDK does with every POST.
      ...(method === 'POST' ? { 'idempotency-key': newId() } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = (await response.json()) as Body;
  expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
  return answer;
}

async function openSession(): Promise<string> {
  const provider = await ask('POST', '/providers', {
    kind: 'openai_compatible',
    name: newId(),
    baseUrl: wire.url,
    apiKey: 'sk-test',
  });
  const model = await ask('POST', `/providers/${provider.id}/models`, { modelId: 'm' });
  const agent = await ask('POST', '/agents', {
    name: newId(),
    defaultModelId: model.id,
    capabilities: [{ id: 'current_time' }],
  });
  const session = await ask('POST', `/agents/${agent.id}/sessions`, {});
  return `/agents/${agent.id}/sessions/${session.id}`;
}

/** What each turn with one tool call sends, after a first one that fills caches. */
async function turnsOf(path: string): Promise<string[][]> {
  const turns: string[][] = [];
  const began = performance.now();
  let polls = 0;
  listen();
  for (let turn = 0; turn <= TURNS; turn++) {
    wire.replies(
      stream(
        chat.events({
          text: ['I look.'],
          calls: [{ id: `c${turn}`, name: 'current_time', pieces: ['{}'] }],
        }),
      ),
      stream(chat.events({ text: ['It is ', 'late.'] })),
    );
    statements = [];
    await ask('POST', `${path}/messages`, { content: { text: `turn ${turn}` } });
    // Without a statement of our own: what ends a turn is the second answer, and a hint may follow it.
    await until(
      'the last commit is answered',
      () => endOf(statements) && statements.every(({ found }) => found !== null),
    );
    await delay(60);
    const sent = statements.filter(({ name }) => !BACKGROUND.has(name));
    polls += sent.filter(({ name, found }) => name === 'claim' && found === 0).length;
    turns.push(sent.filter(({ name, found }) => name !== 'claim' || found !== 0).map(({ name }) => name));
  }
  pg.Client.prototype.query = query;
  // A look at the queue that finds nothing is a poll, of which there is one every quarter of a second and no more.
  expect(polls).toBeLessThanOrEqual(Math.ceil((performance.now() - began) / POLL_MS) + 1);
  const { data } = await ask<{ data: { role: string }[] }>('GET', `${path}/messages?limit=100`);
  expect(data.filter(({ role }) => role === 'tool_result')).toHaveLength(TURNS + 1);
  return turns.slice(1);
}

const endOf = (sent: Sent[]) => sent.filter(({ name }) => name === 'commit').length >= 3;

it('a turn with one tool call takes at most 10 statements, serve and work together', async () => {
  for (const turn of await turnsOf(await openSession())) {
    // One below what is promised: a turn after a pause looks the key up again.
    expect(turn.length, turn.join(', ')).toBeLessThanOrEqual(9);
    expect(turn.length, turn.join(', ')).toBeGreaterThanOrEqual(5);
  }
});

// Beyond the turn's own: for each of its five commits a hint and a look at what is new, and what is being written between them.
// How many of these fall together is a matter of milliseconds.
it('at most 25 with somebody who reads it as it is written', async () => {
  const path = await openSession();
  const reader = new Client(`http://127.0.0.1:${port}/v1${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await until('connected', () => reader.frames.length > 0);
  const turns = await turnsOf(path);
  await reader.sees('run.completed', TURNS + 1);
  reader.close();
  for (const turn of turns) {
    expect(turn.length, turn.join(', ')).toBeLessThanOrEqual(25);
  }
});
