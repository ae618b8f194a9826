import { flushCompileCache } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import type { Json, JsonObject } from '@troupe/protocol';
import pg from 'pg';
import { createPlainDoor } from '../../../testing/src/plain-door.ts';
import { silentLogger } from '../../src/base/index.ts';
import { sessionsDoor } from '../../src/doors/sessions/door.ts';
import { beginChild } from '../../src/doors/shared/child.ts';
import {
  Kernel,
  type Probe,
  type ToolAnswer,
  type ToolContext,
  toModelMessages,
} from '../../src/kernel/index.ts';
import { createModels } from '../../src/models/registry.ts';
import { createScripted } from '../../src/models/scripted/index.ts';
import { Database } from '../../src/store/index.ts';
import { recordEffect } from './effects.ts';
import type { Job, Numbered, Order, Report, Strike } from './orders.ts';

// A worker in a process of its own, for tests that kill, stop and drain it. Orders come and reports go over IPC.
// It imports no more than a worker needs: importing is most of what a process costs that is soon killed.

interface AtWork {
  kernel: Kernel;
  rest(): Promise<void>;
}

let atWork: AtWork | null = null;
let release = () => {};

function report(said: Report): void {
  process.send!(said);
}

/** Writing to the channel is synchronous here, so the report is out before the signal comes. */
function striking(strike: Strike): Probe {
  const { boundary, when, occurrence = 1, run, signal = 'SIGKILL' } = strike;
  let count = 0;
  return async (reached, then, runs) => {
    if (reached !== boundary || then !== when) return;
    if (run && runs.length > 0 && !runs.includes(run)) return;
    if (++count !== occurrence) return;
    report({ type: 'struck', boundary, when, runs });
    process.kill(process.pid, signal);
    if (signal === 'SIGKILL') await new Promise(() => {});
  };
}

function stopping(stops: Record<string, Strike>): Probe {
  const standing = new Set<string>();
  const counts = new Map<string, number>();
  return async (reached, then, runs) => {
    const [run] = runs;
    const stop = run === undefined ? undefined : stops[run];
    if (!stop || reached === 'claim') return; // others are claimed with it
    if (!standing.has(run!)) {
      const { boundary, when, occurrence = 1 } = stop;
      if (reached !== boundary || then !== when) return;
      const count = (counts.get(run!) ?? 0) + 1;
      counts.set(run!, count);
      if (count !== occurrence) return;
      standing.add(run!);
      if (standing.size === Object.keys(stops).length) {
        report({ type: 'struck', boundary, when, runs: [...standing] });
        process.kill(process.pid, 'SIGKILL');
      }
    }
    await new Promise(() => {});
  };
}

async function work(job: Job): Promise<string> {
  const db = new Database({ url: job.url, applicationName: 'troupe/crash', logger: silentLogger });
  const book = new pg.Pool({ connectionString: job.url, max: 4 });
  book.on('error', () => {});
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const hold = new Set(job.hold);
  const scripted = createScripted(
    {},
    {
      async onRequest(request, attempt) {
        const { runId: run, step, model: name } = request;
        const worker = kernel.worker!.incarnation;
        await recordEffect(book, { run, kind: 'model', name, call: '', step, attempt, worker, epoch: null });
        if (hold.has('model') || hold.has(run)) await released;
      },
    },
  );
  const execute = async (name: string, args: Json, context: ToolContext): Promise<ToolAnswer> => {
    const { runId: run, callId: call, step, attempt, worker, epoch } = context;
    await recordEffect(book, { run, kind: 'tool', name, call, step, attempt, worker, epoch });
    if (hold.has(name)) await released;
    await delay(Number((args as JsonObject).ms ?? 0));
    if (name === 'entrust') {
      const { rows } = await book.query<{ agent: string; entity: string; snapshot: string }>(
        'select agent_id as agent, entity_id as entity, snapshot_id as snapshot from troupe.runs where id = $1',
        [run],
      );
      // Starts much later, so that the test settles the call.
      const late = { ...rows[0]!, door: 'plain', wallMs: 60_000, delayMs: 3_600_000 };
      return beginChild(kernel, { deadlineMs: 60_000, config: {} }, context, { text: 'work', run: late });
    }
    return { done: name };
  };
  const kernel = new Kernel({
    db,
    logger: silentLogger,
    ...(job.strike ? { probe: striking(job.strike) } : {}),
    ...(job.stops ? { probe: stopping(job.stops) } : {}),
  });
  atWork = {
    kernel,
    async rest() {
      await kernel.close();
      await Promise.all([db.close(), book.end()]);
    },
  };
  const worker = await kernel.work({
    doors: [createPlainDoor(toModelMessages), sessionsDoor],
    models: createModels({ scripted: scripted.provider }),
    tools: { resolve: (tool) => (args, context) => execute(tool.name, args, context) },
    ...(job.capacity ? { capacity: job.capacity } : {}),
    ...(job.graceMs ? { graceMs: job.graceMs } : {}),
  });
  return worker.incarnation;
}

async function carryOut(order: Order): Promise<unknown> {
  switch (order.type) {
    case 'work':
      return work(order.job);
    case 'start':
      return atWork!.kernel.start(order.item);
    case 'settle':
      return atWork!.kernel.settle(order.run, order.call, order.outcome, 'worker process');
    case 'release':
      return release();
    case 'rest':
      await atWork?.rest();
      atWork = null;
  }
}

process.on('message', async ({ n, order }: Numbered) => {
  report({ type: 'done', n, answer: ((await carryOut(order)) ?? null) as Json });
});
process.on('SIGTERM', async () => {
  await atWork?.rest();
  process.exit(0);
});
process.on('disconnect', () => process.exit(1));
report({ type: 'ready' });
// By itself it would be written at the end, and most of these processes are killed.
flushCompileCache();
