import { createHash, randomBytes } from 'node:crypto';
import type { Endpoint } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { createDatabase, isLong, sampleSeed, violations } from '@troupe/testing';
import pg from 'pg';
import { beforeAll, expect, inject, test } from 'vitest';
import { Transport } from '../../../sdk/src/transport.ts';
import { loseAnswers } from '../lost-answers.ts';
import { type Ask, endpointOf, openWorld, POSTS, type Post, type World } from '../posts.ts';
import { after, forAll, freePort, Troupe } from './fixture.ts';

// Servers die by kill -9 while they carry out POSTs of every kind, and the SDK sends these again to another server.
// Each request loses its first attempt at one of three places: on its way (a moment of the seed), after its effect and
// before the answer is kept, or after that and before the answer arrives.

const EACH = isLong ? 1_000 : 20;
/** Requests of one kind that are under way when a server dies. */
const AT_ONCE = isLong ? 50 : 10;
/** Requests that wait for a server at the same time. */
const IN_FLIGHT = 40;
/** Kinds that are under way together. */
const KINDS = isLong ? 5 : POSTS.length;

const KEY = randomBytes(32).toString('hex');
let pool: pg.Pool;
let env: Record<string, string>;
let world: World;
let victim: Troupe;
let survivor: Troupe;

beforeAll(() =>
  forAll(async () => {
    const { url, drop } = await createDatabase(inject('postgresUrl'));
    after(drop);
    env = {
      DATABASE_URL: url,
      TROUPE_BOOTSTRAP_KEY: KEY,
      TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'error',
    };
    pool = new pg.Pool({ connectionString: url, max: 3 });
    pool.on('error', () => {});
    after(() => pool.end());
    [victim, survivor] = await Promise.all([serve(), serve()]);
    world = await openWorld(ask);
    await loseAnswers(pool);
  }),
);

async function serve(): Promise<Troupe> {
  const started = new Troupe('serve', { ...env, PORT: String(await freePort()) });
  await started.ready();
  return started;
}

const at = ({ port }: Troupe) => `http://127.0.0.1:${port}`;

/** Without faults. */
const ask: Ask = async (name, input) =>
  new Transport({ baseUrl: at(survivor), key: KEY }).call(endpointOf(name), input as never) as never;

interface Sent {
  post: Post;
  marker: string;
  key: string;
  input: ReturnType<Post['input']>;
}

interface Seen {
  /** By idempotency key: what the first attempt was answered, which the client never learns. */
  lost: Map<string, { status: number; id: unknown }>;
  /** First attempts that the death of the server cut off. */
  cut: number;
  /** Requests that were sent again. */
  repeated: Set<string>;
}

/** The id of what an answer names. */
const idIn = (body: Record<string, unknown>) => body.id ?? body.runId ?? body.count ?? null;

/** Sends all of these to the victim, kills it when it has answered `killAfter` of them, and lets the SDK go on with the survivor. */
async function round(requests: Sent[], killAfter: number, seen: Seen): Promise<void> {
  let answered = 0;
  let kill = () => {};
  const killed = new Promise<void>((resolve) => {
    kill = () => {
      victim.child.kill('SIGKILL');
      void victim.exit.then(() => resolve());
    };
  });
  const arrived = () => {
    if (++answered >= killAfter) kill();
  };
  const first = new Set<string>();
  const places = new Places(IN_FLIGHT);
  const fetchTo: typeof fetch = async (url, init) => {
    const key = new Headers(init!.headers).get('idempotency-key')!;
    const { pathname, search } = new URL(String(url));
    if (first.has(key)) {
      seen.repeated.add(key);
      return places.take(() => fetch(`${at(survivor)}${pathname}${search}`, init));
    }
    first.add(key);
    await places.take(async () => {
      try {
        const response = await fetch(`${at(victim)}${pathname}${search}`, init);
        const body = (await response.json()) as Record<string, unknown>;
        // On a busy machine, it may be refused for want of a connection.
        if (response.ok) seen.lost.set(key, { status: response.status, id: idIn(body) });
      } catch {
        seen.cut++;
      }
    });
    arrived();
    await killed;
    throw new TypeError('fetch failed');
  };
  const client = new Transport({ baseUrl: 'http://troupe', key: KEY, fetch: fetchTo, retries: 8 });
  // Half of them lose the kept answer too, and all whose answer is shown once: kept, it is refused to a repeat.
  const lost = requests
    .filter(({ post, key }) => endpointOf(post.name).shownOnce || hash(`lost ${key}`) % 2 === 0)
    .map(({ key }) => key);
  await pool.query('insert into public.lost_answers select unnest($1::text[])', [lost]);
  void killed.then(() => pool.query('delete from public.lost_answers'));
  const answers = await Promise.all(
    requests.map(async ({ post, input, key, marker }) => {
      const endpoint: Endpoint = endpointOf(post.name);
      const body = (await client
        .call(endpoint, input as never, { idempotencyKey: key })
        .catch((error: unknown) => {
          throw new Error(`${post.name} ${marker}: ${String(error)}`, { cause: error });
        })) as unknown as Record<string, unknown>;
      const before = seen.lost.get(key);
      if (before)
        expect([post.name, endpoint.status, idIn(body)]).toEqual([post.name, before.status, before.id]);
      return body;
    }),
  );
  expect(answers).toHaveLength(requests.length);
  victim = survivor;
  survivor = await serve();
}

/** So many at once; the others in their order. */
class Places {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

const hash = (text: string) => createHash('md5').update(`${sampleSeed} ${text}`).digest().readUInt32BE();

test(`${EACH} requests of each of ${POSTS.length} kinds, sent again after kill -9: none twice, none lost`, async () => {
  const seen: Seen = { lost: new Map(), cut: 0, repeated: new Set() };
  const sent: Record<string, number> = {};
  let kills = 0;
  for (let from = 0; from < POSTS.length; from += KINDS) {
    const kinds = POSTS.slice(from, from + KINDS);
    for (let done = 0; done < EACH; done += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, EACH - done) }, (_, n) => done + n);
      const preparing = new Places(IN_FLIGHT);
      const requests = await Promise.all(
        numbers.flatMap((n) => kinds.map((post) => preparing.take(() => prepare(post, n)))),
      );
      // At least half of them have had their effect by then.
      const half = Math.ceil(requests.length / 2);
      const killAfter = Math.min(half + (hash(`kill ${from} ${done}`) % half), requests.length);
      await round(requests, killAfter, seen);
      kills++;
      for (const post of kinds) await check(post, requests, sent);
    }
  }
  expect(sent).toEqual(Object.fromEntries(POSTS.map(({ name }) => [name, EACH])));
  expect(seen.repeated.size).toBe(EACH * POSTS.length);
  expect(seen.lost.size).toBeGreaterThan(0);
  expect(await violations(pool)).toEqual([]);
  const facts = { kills, requests: seen.repeated.size, answered: seen.lost.size, cut: seen.cut };
  console.log(`kill -9 around POSTs: ${JSON.stringify(facts)}`);
}, 3_600_000);

async function prepare(post: Post, n: number): Promise<Sent> {
  const marker = `m_${post.name.replace('.', '_')}_${n}`;
  const prepared = (await post.prepare?.(ask, world, marker)) ?? {};
  const input = post.input(world, marker, prepared);
  return { post, marker: prepared.marker ?? marker, key: newId(), input };
}

async function check(post: Post, requests: Sent[], sent: Record<string, number>): Promise<void> {
  const markers = requests.filter((one) => one.post === post).map(({ marker }) => marker);
  const { rows } = await pool.query<{ marker: string; n: number }>(
    `select marker, count(*)::int as n from (${post.effects}) x where marker = any($1) group by marker`,
    [markers],
  );
  const effects = new Map(rows.map(({ marker, n }) => [marker, n]));
  expect(
    markers.filter((marker) => effects.get(marker) !== 1).map((marker) => [marker, effects.get(marker)]),
  ).toEqual([]);
  sent[post.name] = (sent[post.name] ?? 0) + markers.length;
  if (post.tidy) await pool.query(post.tidy);
}
