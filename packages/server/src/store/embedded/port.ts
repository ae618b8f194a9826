import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { type EmbeddedHome, putFile } from './embedded-home.ts';

export const HOST = '127.0.0.1';

/** The port of the last start if it is still free, so that bookmarked connections keep working; else any free one. */
export async function choosePort(place: EmbeddedHome): Promise<number> {
  const last = Number(await readFile(place.port, 'utf8').catch(() => ''));
  const usable = Number.isInteger(last) && last > 0 && last < 65_536;
  return (usable ? await listenOnce(last) : undefined) ?? freePort();
}

/**
 * Below the ports that systems give to connections of their own (from 32768 on): one of those could be taken by anybody's
 * connection just while Postgres is down, and it could not come back.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 20;

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = await listenOnce(randomInt(LOWEST, HIGHEST));
    if (port !== undefined) return port;
  }
  const port = await listenOnce(0);
  if (port === undefined) throw new Error('no free port on the loopback interface');
  return port;
}

export async function rememberPort(place: EmbeddedHome, port: number): Promise<void> {
  await putFile(place, place.port, `${port}\n`);
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const found = (server.address() as AddressInfo).port;
      server.close(() => resolve(found));
    });
  });
}
