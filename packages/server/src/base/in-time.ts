import { Script } from 'node:vm';

/** The work took longer than it may and was broken off; what it had half done must not be used again. */
export class OutOfTime extends Error {}

// The only way to break off synchronous work: V8 ends whatever a script has called. A thread is started for each, which takes
// some tenths of a millisecond.
const key = Symbol.for('troupe.inTime');
const script = new Script('globalThis[Symbol.for("troupe.inTime")]()');
const place = globalThis as { [key]?: () => unknown };

/** Does synchronous work, and breaks it off after so many milliseconds, wherever it is. */
export function inTime<Result>(ms: number, work: () => Result): Result {
  place[key] = work;
  try {
    return script.runInThisContext({ timeout: ms }) as Result;
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new OutOfTime(`it takes longer than ${ms} ms`);
  } finally {
    delete place[key];
  }
}

const MAX_TRIES = 5;

/**
 * The same, with a limit on processor time: work that was broken off while other processes had the processor is tried
 * again, until all tries together have used the limit. Only for work that leaves nothing behind.
 */
export function inProcessorTime<Result>(ms: number, work: () => Result): Result {
  const began = process.cpuUsage();
  for (let tries = 1; ; tries++) {
    try {
      return inTime(ms, work);
    } catch (error) {
      const { user, system } = process.cpuUsage(began);
      if (!(error instanceof OutOfTime) || tries === MAX_TRIES || (user + system) / 1_000 > ms * 0.8)
        throw error;
    }
  }
}
