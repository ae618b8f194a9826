import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Kernel, silentLogger } from '@troupe/server';
import { until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { Part } from './processes.ts';
import { connect, Scene, upTo } from './scene.ts';

const READERS = 1_000;
const SMALL = 50;
const LARGE = 800;
const LARGE_BYTES = 20_000;
const MEGABYTE = 1_048_576;

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** Keeps the ids and nothing else. */
async function follow(url: string): Promise<{ ids: number[]; response: IncomingMessage }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(url, { agent, headers: { accept: 'text/event-stream' } }, resolve).once('error', reject),
  );
  response.setEncoding('utf8');
  const ids: number[] = [];
  let rest = '';
  response.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('id: ')) ids.push(Number(line.slice(4)));
  });
  response.on('error', () => {});
  return { ids, response };
}

test('a thousand read one session and one of them does not: the others get everything, and memory stays', async () => {
  await using scene = await Scene.open(inject('postgresUrl'), { work: false });
  const { stage } = scene;
  const session = await scene.session();
  await using server = await Part.start<{ port: number }>('serve-process.ts', stage.url, scene.project);
  const url = `http://127.0.0.1:${server.ready.port}${session.path}/events`;
  const memory = () => server.ask<{ bytes: number; readers: number; sent: number }>('memory');

  const stuck = await follow(url);
  stuck.response.pause();
  const others: Awaited<ReturnType<typeof follow>>[] = [];
  while (others.length < READERS - 1) {
    const more = Math.min(100, READERS - 1 - others.length);
    others.push(...(await Promise.all(Array.from({ length: more }, () => follow(`${url}?types=run.*`)))));
  }
  const before = await memory();
  expect(before.readers).toBe(READERS);

  // Large ones for whoever takes everything, which is the one that does not read; small ones in between for all others.
  const db = connect(stage.url);
  const kernel = new Kernel({ db, logger: silentLogger });
  await kernel.listen();
  const wanted: number[] = [];
  const small = { type: 'run.resumed' };
  const large = { type: 'budget.warning', data: { filler: 'x'.repeat(LARGE_BYTES) } };
  for (let n = 0, seq = 0; n < SMALL; n++) {
    const events = [small, ...Array.from({ length: LARGE / SMALL }, () => large)];
    await db.pool.query(`select troupe.append($1, null, '[]', $2::jsonb)`, [
      session.thread,
      JSON.stringify(events),
    ]);
    wanted.push(seq + 1);
    seq += events.length;
    kernel.hint({ threads: [session.thread] });
  }
  await until('all others have everything', () => others.every(({ ids }) => ids.length >= SMALL), 20_000);
  for (const { ids } of others) expect(ids).toEqual(wanted);

  const total = SMALL + LARGE;
  // What is read and sent at the moment may be there; what is kept for the one who is stuck may not.
  const grown = async () => ((await memory()).bytes - before.bytes) / MEGABYTE;
  const seen: number[] = [];
  await until('memory is steady', async () => {
    seen.unshift(await grown());
    await delay(100);
    return seen.length > 10 && seen.slice(0, 10).every((size) => Math.abs(size - seen[0]!) < 0.5);
  });
  expect(seen[0]).toBeLessThan(5);
  // It really is stuck: the network takes no more of it.
  expect((await memory()).sent).toBeLessThan((LARGE * LARGE_BYTES) / 2);

  for (const { response } of others) response.destroy();
  await until('they are gone', async () => (await memory()).readers === 1);
  stuck.response.resume();
  await until('the one that was stuck has everything too', () => stuck.ids.length >= total);
  expect(stuck.ids).toEqual(upTo(total));
  stuck.response.destroy();
  await kernel.close();
  await db.close();
}, 60_000);
