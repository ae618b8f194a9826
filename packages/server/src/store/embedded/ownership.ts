import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { StartupError } from '../../base/index.ts';
import { type Claim, isHeld, isHere, myClaim, readClaim } from './claim.ts';
import { type EmbeddedHome, putFile, readPassword, USER } from './embedded-home.ts';
import { HOST } from './port.ts';
import type { Postmaster } from './postmaster.ts';
import { isAlive } from './processes.ts';

/** What owner.json tells a person, and a process in another container, about the owner. */
interface OwnerNote extends Claim {
  url: string;
}

const LOCK = [0x74726f75, 0x00007065] as const; // "trou", "pe"
const ANSWER_MS = 60_000;
/** The backend of a killed owner needs a moment to notice; within it the lock still looks held. */
const LETTING_GO_MS = 2_000;

export function urlOf(port: number, password: string, database = 'troupe'): string {
  return `postgres://${USER}:${password}@${HOST}:${port}/${database}`;
}

/** A session in the postmaster of this place; undefined if that ends before it answers. */
export async function connect(
  place: EmbeddedHome,
  { pid, port }: Postmaster,
): Promise<pg.Client | undefined> {
  const connectionString = urlOf(port, await readPassword(place), 'postgres');
  const { host } = await myClaim();
  const giveUp = Date.now() + ANSWER_MS;
  for (;;) {
    const client = new pg.Client({
      connectionString,
      application_name: `troupe owner ${process.pid} on ${host}`,
      connectionTimeoutMillis: 5_000,
    });
    client.on('error', () => {}); // a lost connection is seen by its 'end'
    try {
      await client.connect();
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      if (rows[0]?.data_directory === place.data) return client;
      throw new StartupError(
        'home_copied',
        `${place.data} looks like a copy of ${rows[0]?.data_directory}.`,
        {
          hint: `Stop Troupe on the original, or remove ${place.data}/postmaster.pid from the copy.`,
        },
      );
    } catch (error) {
      await client.end().catch(() => {});
      if (error instanceof StartupError) throw error;
      if (!(await isAlive(pid))) return undefined;
      if ((error as { code?: string }).code === '28P01') {
        throw new StartupError('password_wrong', `PostgreSQL refuses the password in ${place.password}.`, {
          hint: 'Restore that file: it belongs to the data directory beside it.',
        });
      }
      if (Date.now() > giveUp) {
        throw new StartupError('postgres_unresponsive', `PostgreSQL (process ${pid}) does not answer.`, {
          hint: `Look into ${place.log}; end process ${pid} and start again.`,
          cause: error,
        });
      }
      await pause(25);
    }
  }
}

/** Takes the directory, or says who has it. */
export async function takeOwnership(place: EmbeddedHome, client: pg.Client, port: number): Promise<void> {
  const giveUp = Date.now() + LETTING_GO_MS;
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [
      ...LOCK,
    ]);
    if (rows[0]?.taken) break;
    const note = await readClaim<OwnerNote>(place.note);
    if ((note && (await isHere(note)) && (await isHeld(place.note, note))) || Date.now() > giveUp) {
      throw inUse(
        place,
        note ? `process ${note.pid} on ${note.host}, since ${note.startedAt}` : await holder(client),
      );
    }
    await pause(25);
  }
  const note: OwnerNote = { ...(await myClaim()), url: `postgres://${USER}@${HOST}:${port}/troupe` };
  await putFile(place, place.note, `${JSON.stringify(note, undefined, 2)}\n`);
}

/** A directory shared with another container: its postmaster is invisible from here, its owner's note is not. */
export async function refuseOwnerElsewhere(place: EmbeddedHome): Promise<void> {
  const note = await readClaim<OwnerNote>(place.note);
  if (note && !(await isHere(note)) && (await isHeld(place.note, note))) {
    throw inUse(place, `process ${note.pid} on ${note.host}, since ${note.startedAt}`);
  }
}

export async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`SELECT FROM pg_database WHERE datname = 'troupe'`);
  if (rowCount === 0) await client.query('CREATE DATABASE troupe');
}

function inUse(place: EmbeddedHome, by: string): StartupError {
  return new StartupError('home_in_use', `${place.home} is in use by ${by}.`, {
    hint: 'Stop that process, or set TROUPE_HOME to another directory.',
  });
}

async function holder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string; since: Date }>(
    `SELECT a.application_name AS name, a.backend_start AS since
       FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1 AND l.objid = $2`,
    [...LOCK],
  );
  const found = rows[0];
  return found ? `"${found.name}", since ${found.since.toISOString()}` : 'another process';
}
