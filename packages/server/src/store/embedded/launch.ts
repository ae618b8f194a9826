import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Logger, StartupError } from '../../base/index.ts';
import { program } from './binaries.ts';
import { type EmbeddedHome, giveToOwner } from './embedded-home.ts';
import { choosePort, freePort, HOST, rememberPort } from './port.ts';
import { type Postmaster, readPidFile } from './postmaster.ts';
import { commandAs, type RunAs } from './run-as.ts';

/** After a kill -9 the last children hold the shared memory until they notice: a refused start is tried again. */
const RETRY_MS = 5_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const NEWS_MS = 5_000;

export interface LaunchOptions {
  place: EmbeddedHome;
  as: RunAs;
  binaries: string;
  /** this port and no other */
  port: number | undefined;
  logger: Logger;
}

export async function launch(options: LaunchOptions): Promise<Postmaster> {
  const { place, logger } = options;
  const giveUp = Date.now() + RETRY_MS;
  let port = options.port ?? (await choosePort(place));
  for (;;) {
    const result = await tryOnce(options, port);
    if (typeof result !== 'string') {
      await rememberPort(place, port);
      return result;
    }
    const portTaken = /could not create any TCP\/IP sockets/.test(result);
    if (portTaken && options.port !== undefined) {
      throw new StartupError('port_in_use', `Port ${port}, wanted for the embedded PostgreSQL, is in use.`, {
        hint: 'Free that port, or leave the port out and a free one is chosen.',
      });
    }
    if (Date.now() > giveUp) {
      throw new StartupError('postgres_start_failed', `PostgreSQL did not start. It says:\n${result}`, {
        hint: `Mend what it names and start again. The whole log is ${place.log}.`,
      });
    }
    logger.debug({ port, log: result }, 'PostgreSQL did not start; trying again');
    if (portTaken) port = await freePort();
    else await pause(100);
  }
}

/** Starts a postmaster and waits until it accepts connections; if it ends first, the end of its log. */
async function tryOnce(options: LaunchOptions, port: number): Promise<Postmaster | string> {
  const { place, as, binaries, logger } = options;
  const size = await rotateLog(place);
  const log = await open(place.log, 'a', 0o600);
  await giveToOwner(place, place.log);
  const settings = [
    `port=${port}`,
    `listen_addresses=${HOST}`,
    'unix_socket_directories=', // a long home would exceed the 107 bytes of a socket path
    'max_connections=200',
    'logging_collector=off',
    'log_destination=stderr',
  ];
  const wanted = ['-D', place.data, ...settings.flatMap((setting) => ['-c', setting])];
  const { file, args, options: spawning } = commandAs(as, program(binaries, 'postgres'), wanted);
  // Detached: Ctrl-C in the terminal must not reach Postgres before Troupe has drained.
  const stdio = ['ignore', log.fd, log.fd] as const;
  const child = spawn(file, args, { ...spawning, detached: true, stdio: [...stdio], windowsHide: true });
  child.unref();
  let ended = false;
  const end = once(child, 'exit').then(
    () => {
      ended = true;
    },
    (error: Error) => {
      ended = true;
      return log.appendFile(`${error.message}\n`);
    },
  );
  try {
    let news = Date.now() + NEWS_MS;
    while (!ended) {
      const state = await readPidFile(place.data);
      if (state?.pid === child.pid && state?.ready) return { pid: state.pid, port };
      if (Date.now() > news) {
        logger.info({ pid: child.pid }, 'PostgreSQL is still starting; after a crash it first recovers');
        news += NEWS_MS;
      }
      await pause(10);
    }
    await end;
    return await tail(place.log, size);
  } finally {
    await log.close();
  }
}

async function rotateLog(place: EmbeddedHome): Promise<number> {
  const size = (await stat(place.log).catch(() => undefined))?.size ?? 0;
  if (size < LOG_LIMIT_BYTES) return size;
  await rename(place.log, `${place.log}.1`);
  return 0;
}

async function tail(path: string, from: number): Promise<string> {
  const text = (await readFile(path)).subarray(from).toString('utf8');
  return text.trimEnd().split('\n').slice(-15).join('\n');
}
