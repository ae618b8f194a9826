/**
 * W3, inside the workers. The first worker starts a batch of runs and kills itself; a second one, on the same database,
 * waits until all of them have finished. Every model call and tool execution goes to a ledger in its own database.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { CrashAdapter } from '../adapter.ts';
import { hooks } from '../scenario.ts';

const CRASH_RUN = { tools: 5, toolMs: 20 };
const POLL_MS = 50;
/** A run counts as lost if no run finishes for this long. */
const STALLED_MS = 20_000;
const MAX_MS = 120_000;
/** The kill comes up to this much after the last recorded tool, at random. */
const KILL_SPREAD_MS = 20;

export interface KillSwitch {
  /** All runs have been accepted. */
  arm(): void;
}

/** Installed before set-up, because some systems begin to recover while they start. */
export function recordEffects(ledgerUrl: string, firstWorker: boolean, killAfterTools?: number): KillSwitch {
  const ledger = new pg.Pool({ connectionString: ledgerUrl, max: 10 });
  ledger.on('error', () => {});
  const record = (run: string, step: number, kind: string) =>
    ledger.query({
      name: 'record',
      text: 'insert into executions (run, step, kind, first_worker) values ($1, $2, $3, $4)',
      values: [run, step, kind, firstWorker],
    });
  let tools = 0;
  let armed = false;
  let dying = false;
  const killWhenDue = () => {
    if (killAfterTools === undefined || dying || !armed || tools < killAfterTools) return;
    dying = true;
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * KILL_SPREAD_MS);
  };
  hooks.model = (run, step) => record(run, step, 'model');
  hooks.toolStart = (run, step) => record(run, step, 'tool');
  hooks.toolDone = async (run, step) => {
    await ledger.query({
      name: 'done',
      text: 'insert into done (run, step, first_worker) values ($1, $2, $3) on conflict do nothing',
      values: [run, step, firstWorker],
    });
    tools++;
    killWhenDue();
  };
  return {
    arm() {
      armed = true;
      killWhenDue();
    },
  };
}

export async function startBatch(
  adapter: CrashAdapter<unknown>,
  state: unknown,
  runIds: string[],
  killSwitch: KillSwitch,
): Promise<void> {
  let accepted = 0;
  const accept = () => {
    if (++accepted === runIds.length) killSwitch.arm();
  };
  await Promise.all(runIds.map((id) => adapter.start(state, id, CRASH_RUN, accept)));
}

export interface Recovery {
  finishedBefore: number;
  unfinished: number;
  /** Null if there was nothing to resume, or no way to. */
  unfinishedAfterManual: number | null;
}

export async function awaitRecovery(
  adapter: CrashAdapter<unknown>,
  state: unknown,
  runIds: string[],
  onAutomaticEnd: (unfinished: number) => void,
): Promise<Recovery> {
  const began = performance.now();
  await adapter.recover?.(state);
  const finishedBefore = (await adapter.finished(state, runIds)).length;
  let done = finishedBefore;
  let progressAt = performance.now();
  // A system that needs an operator never makes progress by itself: do not wait for it.
  const stalled = () =>
    performance.now() - progressAt > (adapter.resumeManually ? 0 : STALLED_MS) ||
    performance.now() - began > MAX_MS;
  while (done < runIds.length && !stalled()) {
    await pause(POLL_MS);
    const now = (await adapter.finished(state, runIds)).length;
    if (now > done) progressAt = performance.now();
    done = now;
  }
  const unfinished = runIds.length - done;
  onAutomaticEnd(unfinished);
  if (unfinished === 0 || !adapter.resumeManually) {
    return { finishedBefore, unfinished, unfinishedAfterManual: null };
  }
  const finished = new Set(await adapter.finished(state, runIds));
  await adapter.resumeManually(
    state,
    runIds.filter((id) => !finished.has(id)),
  );
  const after = (await adapter.finished(state, runIds)).length;
  return { finishedBefore, unfinished, unfinishedAfterManual: runIds.length - after };
}
