import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Kernel, silentLogger } from '@troupe/server';
import { isLong, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { connect, StreamFixture, upTo } from './fixture.ts';
import { Part } from './processes.ts';

const READERS = isLong ? 1_000 : 400;
/** Of the others, at the end. */
const FEW = 20;
/** What a reader is sent in one go. */
const ONE_GO = 65_536;
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

test('a crowd reads one session and one of them does not: the others get everything, and memory stays', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  const session = await fixture.session();
  await using server = await Part.start<{ port: number }>(
    'serve-process.ts',
    fixture.databaseUrl,
    fixture.project,
  );
  const url = `http://127.0.0.1:${server.ready.port}${session.path}/events`;
  const memory = () => server.ask<{ bytes: number; readers: number; sent: number }>('memory');

  const stuck = await follow(url);
  stuck.response.pause();
  const others: Awaited<ReturnType<typeof follow>>[] = [];
  while (others.length < READERS - 1) {
    const more = Math.min(100, READERS - 1 - others.length);
    others.push(...(await Promise.all(Array.from({ length: more }, () => follow(url)))));
  }
  const before = await memory();
  expect(before.readers).toBe(READERS);

  const db = connect(fixture.databaseUrl);
  const kernel = new Kernel({ db, logger: silentLogger });
  await kernel.listen();
  /** In megabytes, once it changes no longer. */
  const steady = async () => {
    const seen: number[] = [];
    await until('memory is steady', async () => {
      seen.unshift((await memory()).bytes / MEGABYTE);
      await delay(50);
      return seen.length > 10 && seen.slice(0, 10).every((size) => Math.abs(size - seen[0]!) < 0.5);
    });
    return seen[0]!;
  };
  let total = 0;
  const write = async (rounds: number, events: object[]) => {
    let most = 0;
    for (let n = 0; n < rounds; n++) {
      await db.pool.query(`select troupe.append($1, null, '[]', $2::jsonb)`, [
        session.thread,
        JSON.stringify(events),
      ]);
      total += events.length;
      kernel.hint({ threads: [session.thread] });
      most = Math.max(most, (await memory()).bytes - before.bytes);
      // One round after the other, or a machine that is busy with a thousand readers writes far ahead of them.
      await until('all others have it', () => others.every(({ ids }) => ids.length >= total));
    }
    for (const { ids } of others) expect(ids).toEqual(upTo(total));
    return most;
  };
  const event = (bytes: number) => ({ type: 'budget.warning', data: { filler: 'x'.repeat(bytes) } });

  // Everything for everybody. On its way to each may be what is taken in one go, and no more than that.
  const most = await write(6, [
    { type: 'run.resumed' },
    ...Array.from({ length: 15 }, () => event(100)),
    event(20_000),
  ]);
  expect(most / MEGABYTE).toBeLessThan((READERS * ONE_GO) / MEGABYTE + 5);

  // Far more than the network takes for the one who does not read; for fewer others, as this machine reads it all too.
  for (const { response } of others.splice(FEW)) response.destroy();
  await until('they are gone', async () => (await memory()).readers === FEW + 1);
  const fewer = await steady();
  await write(
    10,
    Array.from({ length: 40 }, () => event(20_000)),
  );
  // What is read and sent at the moment may be there; what is kept for the one who is stuck may not.
  expect((await steady()) - fewer).toBeLessThan(5);
  // It really is stuck: the network takes no more of it.
  expect((await memory()).sent).toBeLessThan(10 * 40 * 20_000 - 2 * MEGABYTE);

  for (const { response } of others) response.destroy();
  await until('all others are gone', async () => (await memory()).readers === 1);
  stuck.response.resume();
  await until('the one that was stuck has everything too', () => stuck.ids.length >= total);
  expect(stuck.ids).toEqual(upTo(total));
  stuck.response.destroy();
  await kernel.close();
  await db.close();
});
