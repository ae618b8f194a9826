import { constants } from 'node:os';
import { type Logger, messageOf } from '../base/index.ts';
import type { Life } from './life.ts';

/** Ctrl-C under npm arrives twice, from the terminal and from npm: so soon after the first it is no second one. */
const ECHO_MS = 750;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PARENT_CHECK_MS = 500;

/** The first signal drains and stops. A second one ends the process at once and leaves Postgres for the next start. */
export function stopOnSignals(life: Life, logger: Logger, exit: (code: number) => void): void {
  let first: number | null = null;
  const stop = (reason: string) => {
    first = performance.now();
    logger.info({ reason }, 'stopping');
    void life.stop().then(() => exit(Number(process.exitCode ?? 0)));
  };
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (first === null) stop(signal);
      else if (performance.now() - first > ECHO_MS) exit(128 + constants.signals[signal]);
    });
  }
  whenLeftByNpm(() => {
    if (first === null) stop('npm is gone');
  });
}

/** npm passes a SIGTERM on to a shell, which ends without passing it on: all we see of it is that our parent changes. */
function whenLeftByNpm(action: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    action();
  }, PARENT_CHECK_MS).unref();
}

/**
 * What nobody caught leaves the process in a state that nobody thought of. It goes in order, so that other processes
 * take its runs at once; what it could not commit they do again.
 */
export function stopOnFailures(life: Life, logger: Logger, exit: (code: number) => void): void {
  const fail = (error: unknown, what: string) => {
    logger.error({ err: error, error: messageOf(error) }, `${what}; stopping`);
    process.exitCode = 1;
    void life.stop().then(() => exit(1));
  };
  process.on('unhandledRejection', (reason) => fail(reason, 'a failure that nobody handled'));
  process.on('uncaughtException', (error) => fail(error, 'an error that nobody caught'));
  // A reader that went away (`| head`) is no reason to stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
