import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { expect } from 'vitest';
import type { Boundary } from '../../src/kernel/probe.ts';
import { setBudget } from '../../src/store/queries/budgets.ts';
import type { SettleOutcome } from '../../src/store/queries/outside.ts';
import { raiseBudget } from '../raise-budget.ts';
import { agent, call, careful, compacting, everyKind, script } from './agents.ts';
import { approveAll, type CrashFixture, settleAll } from './fixture.ts';
import type { Job, Strike } from './orders.ts';
import type { WorkerProcess } from './worker-processes.ts';

export type When = 'before' | 'after';

/** How a worker process gets to a boundary. Whatever is left out is as in an ordinary run of every kind of call. */
export interface Scenario {
  title: string;
  /** Which time the victim gets there, from 1. */
  occurrence?: number;
  agent?: typeof agent;
  text?: string;
  /** Default: one that shows everything and ends with the first text. */
  door?: 'session';
  /** Where another worker died of the run before, and what was done about it then. */
  earlier?: Strike & { next?(fixture: CrashFixture): Promise<unknown> };
  /** Before the victim begins to work; answers with the run that it is about. */
  prepare?(fixture: CrashFixture): Promise<string>;
  job?: Omit<Job, 'url'>;
  /** Brings the victim there, where the runs alone do not. */
  provoke?(fixture: CrashFixture, victim: WorkerProcess, run: string): Promise<void>;
  /** After its death, before another takes over. */
  afterwards?(fixture: CrashFixture, run: string, when: When): Promise<void>;
  /** What people and clients do. */
  outside?(fixture: CrashFixture): Promise<unknown>;
  ends?: 'completed' | 'failed';
  /** How many calls of the run are in doubt at its end. */
  inDoubt?: { before: number; after: number };
}

const nobody = async () => {};
const oneTool = script([{ calls: [call('fetch')] }, { text: 'Done.' }]);
const oneApproval = script([{ calls: [call('send')] }, { text: 'Done.' }]);
const oneQuestion = script([{ calls: [call('ask')] }, { text: 'Done.' }]);

export const SCENARIOS: Record<Boundary, Scenario[]> = {
  start: [{ title: 'a run is started', ...startedByVictim() }],
  claim: [
    { title: 'a new run is taken' },
    { title: 'a run is taken up again after its call was settled', prepare: settled },
    { title: 'a run is taken up again after its call was approved', prepare: approved },
  ],
  answer: [
    // The call is on record as running and was not begun: nobody can know that, so it is in doubt.
    { title: 'with a once call', inDoubt: { before: 0, after: 1 } },
    { title: 'with an idempotent and a pure call', occurrence: 2 },
    { title: 'with a once call and one that waits', occurrence: 3, inDoubt: { before: 0, after: 1 } },
    { title: 'that ends the run', occurrence: 4 },
    { title: 'that is a summary', occurrence: 3, ...compacting({ text: 'Two calls.' }) },
    {
      title: 'that is a digest, because no model writes a summary',
      occurrence: 3,
      ...compacting({ error: { code: 'refused', message: 'No.', retryable: false } }),
    },
  ],
  result: [
    { title: 'of a once call', inDoubt: { before: 1, after: 0 } },
    { title: 'of an idempotent call, a pure one still running', occurrence: 2 },
    { title: 'of a pure call', occurrence: 3 },
    {
      title: 'of a once call, the run then waits',
      occurrence: 4,
      inDoubt: { before: 1, after: 0 },
    },
  ],
  recover: [
    {
      title: 'a once call of the dead',
      earlier: { boundary: 'result', when: 'before' },
      inDoubt: { before: 1, after: 1 },
    },
    {
      title: 'an idempotent and a pure call of the dead',
      earlier: { boundary: 'result', when: 'before', occurrence: 2 },
    },
    // As with an answer: on record as running and not begun.
    {
      title: 'an approved call begins',
      agent: careful,
      text: oneApproval,
      earlier: { boundary: 'answer', when: 'after', next: approveAll },
      inDoubt: { before: 0, after: 1 },
    },
  ],
  park: [{ title: 'a budget is spent and the run waits for more', ...waitingForBudget() }],
  retry: [
    {
      title: 'the model fails and is asked again later',
      agent: { ...agent, limits: { retryBackoffMs: 50 } },
      text: script([
        {
          text: 'Done.',
          error: { code: 'overloaded', message: 'Try later.', retryable: true },
          faultTimes: 1,
        },
      ]),
    },
    {
      title: 'the summariser fails and is asked again later',
      ...compacting({
        text: 'Two calls.',
        error: { code: 'overloaded', message: 'Try later.', retryable: true },
        faultTimes: 1,
      }),
    },
  ],
  fallback: [
    {
      title: 'the model fails and the next one is asked',
      agent: {
        ...agent,
        models: [
          {
            provider: 'scripted',
            model: script([{ error: { code: 'refused', message: 'No.', retryable: false } }]),
          },
          { provider: 'scripted', model: script([{ text: 'Done.' }]) },
        ],
      },
      text: 'go',
    },
  ],
  release: [
    {
      title: 'a stopping process gives back a run whose model does not answer',
      job: { hold: ['model'], graceMs: 50 },
      async provoke(fixture, victim, run) {
        await until('the model is asked', () => fixture.effects(`kind = 'model' and run_id = $1`, [run]));
        victim.signal('SIGTERM');
      },
    },
  ],
  finish: [
    {
      title: 'the steps are used up',
      agent: { ...agent, limits: { steps: 1 } },
      text: oneTool,
      ends: 'failed',
    },
  ],
  settle: [
    { title: 'a client answers', ...settledByVictim(oneQuestion, { status: 'completed', output: 'yes' }) },
    {
      title: 'a person approves',
      agent: careful,
      ...settledByVictim(oneApproval, { status: 'proceed' }),
      outside: approveAll,
    },
  ],
  expire: [
    {
      title: 'nobody answers in time',
      prepare: overdue,
      outside: nobody,
    },
  ],
  reap: [
    {
      title: 'the observer of a dead worker dies',
      earlier: { boundary: 'answer', when: 'after', occurrence: 2 },
    },
  ],
};

/** The run of a scenario, as the victim finds it. */
export async function prepare(fixture: CrashFixture, scenario: Scenario): Promise<string> {
  if (scenario.prepare) return scenario.prepare(fixture);
  const { earlier } = scenario;
  const [run] = await fixture.startAgents(
    scenario.agent ?? agent,
    scenario.text ?? everyKind,
    2,
    scenario.door,
  );
  if (!earlier) return run!;
  const { next, ...strike } = earlier;
  const worker = await fixture.worker({ strike: { ...strike, run: run! } });
  expect(await worker.died).toMatchObject({ signal: 'SIGKILL' });
  await next?.(fixture);
  return run!;
}

/** Runs waited for a client, which has answered; no worker is there to go on. */
async function settled(fixture: CrashFixture): Promise<string> {
  const earlier: Strike = { boundary: 'result', when: 'after', occurrence: 4 };
  const run = await prepare(fixture, { title: 'a call waits', earlier });
  await until('it is settled', async () => {
    await settleAll(fixture);
    return fixture.count(`troupe.runs where id = $1 and status = 'queued'`, [run]);
  });
  return run;
}

/** A run waited for approval and has it; no worker is there to go on. */
async function approved(fixture: CrashFixture): Promise<string> {
  const run = await fixture.startAgent(careful, oneApproval);
  const earlier = await fixture.worker({ strike: { boundary: 'answer', when: 'after' } });
  await earlier.died;
  await approveAll(fixture);
  expect(await fixture.count(`troupe.runs where id = $1 and status = 'queued'`, [run])).toBe(1);
  return run;
}

/** A run waits for a client beyond the deadline, and no worker is there to see it. */
async function overdue(fixture: CrashFixture): Promise<string> {
  const tools = agent.tools!.map((tool) => (tool.waitsFor ? { ...tool, deadlineMs: 100 } : tool));
  const run = await fixture.startAgent({ ...agent, tools }, oneQuestion);
  // Its own sweep is the first thing that it would do next.
  const earlier = await fixture.worker({ strike: { boundary: 'answer', when: 'after' } });
  await earlier.died;
  await until('the deadline is over', () =>
    fixture.count(`troupe.runs where status = 'waiting_tool' and wait_deadline < now()`),
  );
  return run;
}

function startedByVictim(): Partial<Scenario> {
  const items = new WeakMap<CrashFixture, ReturnType<CrashFixture['item']>>();
  return {
    async prepare(fixture) {
      const item = fixture.item(await fixture.snapshot(agent), everyKind);
      items.set(fixture, item);
      return item.run.id;
    },
    async provoke(fixture, victim) {
      void victim.order({ type: 'start', item: items.get(fixture)! });
    },
    async afterwards(fixture, run, when) {
      const again = await fixture.kernel.start(items.get(fixture)!);
      expect(again).toMatchObject({ ok: true, run, duplicate: when === 'after' });
    },
  };
}

function settledByVictim(text: string, outcome: SettleOutcome): Partial<Scenario> {
  const callOf = async (fixture: CrashFixture, run: string) => String((await fixture.calls(run))[0]!.call_id);
  return {
    text,
    async provoke(fixture, victim, run) {
      await until('the run waits', () =>
        fixture.count(`troupe.runs where id = $1 and status = 'waiting_tool'`, [run]),
      );
      void victim.order({ type: 'settle', run, call: await callOf(fixture, run), outcome });
    },
    async afterwards(fixture, run, when) {
      const again = await fixture.kernel.settle(run, await callOf(fixture, run), outcome, 'client');
      expect(again.ok).toBe(when === 'before');
    },
  };
}

function waitingForBudget(): Partial<Scenario> {
  const budget = newId();
  return {
    async prepare(fixture) {
      const { ids, kernel, db } = fixture;
      await setBudget(
        db.rows,
        { project: ids.project, scope: 'agent', scopeId: newId(), unit: 'tokens' },
        { id: budget, amount: 1, onExhausted: 'wait' },
      );
      const item = fixture.item(await fixture.snapshot(agent), oneTool, { run: { budgets: [budget] } });
      await kernel.start(item);
      return item.run.id;
    },
    // Nobody raises it while the victim lives.
    provoke: nobody,
    outside: (fixture) => raiseBudget(fixture, budget, 1_000_000),
  };
}
