import type { Kernel } from '@troupe/server';
import { buildAgent, buildProject, buildSnapshot, buildStart, until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import type { Absorbed } from '../../src/store/queries/outside.ts';
import { call, clientTool, codeTool, gate, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

/** A run whose tool absorbs what it is told to, with the fence that tools are given. */
let absorber: { run: string; absorb(target: string): Promise<Absorbed>; end(): Promise<unknown> };
beforeEach(async () => {
  const ready = gate<{ run: string; by: Parameters<Kernel['absorb']>[1] }>();
  const finish = gate<string>();
  fixture.tools.absorb = (_args, { runId, worker, epoch }) => {
    ready.resolve({ run: runId, by: { run: runId, worker, epoch } });
    return finish.promise;
  };
  const snapshot = await fixture.agent([{ calls: [call('absorb')] }, { text: 'took over' }], {
    tools: [codeTool('absorb')],
  });
  const { run } = await fixture.start(snapshot);
  const { by } = await ready.promise;
  absorber = {
    run,
    absorb: (target) => fixture.kernel.absorb(target, by),
    end: () => {
      finish.resolve('done');
      return fixture.ended(run);
    },
  };
});
afterEach(async () => {
  expect(await absorber.end()).toMatchObject({ status: 'completed' });
});

describe('absorbing a run', () => {
  it('that is queued gives its trigger; it never starts', async () => {
    const target = await fixture.start(await fixture.agent([{ text: 'never' }]), {
      run: { delayMs: 3_600_000, trigger: { about: 'the bill' } },
    });
    expect(await absorber.absorb(target.run)).toEqual({
      ok: true,
      run: target.run,
      status: 'queued',
      worker: null,
      thread: target.thread,
      spaces: [null, null],
      trigger: { type: 'message', messageId: target.message, about: 'the bill' },
      actions: [],
    });
    expect(await fixture.row(target.run)).toMatchObject({
      status: 'canceled',
      cancel_reason: 'absorbed',
      absorbed_by: absorber.run,
    });
    expect(await fixture.types(target.thread)).toContain('run.absorbed');
    expect(fixture.requests(target.run)).toEqual([]);
  });

  it('that is running aborts it and gives every action that it took', async () => {
    const [began, aborted] = [gate(), gate()];
    fixture.tools.note = (args) => ({ noted: args });
    fixture.tools.endless = (_args, { signal }) => {
      began.resolve();
      return new Promise(() => signal.addEventListener('abort', () => aborted.resolve()));
    };
    const snapshot = await fixture.agent(
      [
        { calls: [call('note', { n: 1 }, 'one')] },
        { calls: [call('note', { n: 2 }, 'two'), call('endless')] },
      ],
      { tools: [codeTool('note'), codeTool('endless')] },
    );
    const target = await fixture.start(snapshot);
    await began.promise;
    await until('two notes', async () => {
      const ledger = await fixture.calls(target.run);
      return ledger.filter((each) => each.status === 'completed').length === 2;
    });
    const absorbed = await absorber.absorb(target.run);
    expect(absorbed).toMatchObject({
      ok: true,
      status: 'running',
      actions: [
        {
          id: 'one',
          step: 1,
          tool: 'note',
          args: { n: 1 },
          status: 'completed',
          output: { noted: { n: 1 } },
        },
        { id: 'two', step: 2, tool: 'note', status: 'completed', output: { noted: { n: 2 } } },
        { id: 'endless', step: 2, status: 'canceled', error: { code: 'canceled' } },
      ],
    });
    await aborted.promise;
    expect(await fixture.ended(target.run)).toMatchObject({ status: 'canceled' });
  });

  it('that waits closes the call that it waited for', async () => {
    const snapshot = await fixture.agent([{ calls: [call('pick')] }], { tools: [clientTool('pick')] });
    const target = await fixture.startWaiting(snapshot);
    expect(await absorber.absorb(target.run)).toMatchObject({
      ok: true,
      status: 'waiting_tool',
      actions: [{ id: 'pick', status: 'canceled', waitsFor: null }],
    });
    expect(await fixture.kernel.settle(target.run, 'pick', { status: 'completed', output: 1 })).toMatchObject(
      {
        code: 'call_not_open',
      },
    );
  });

  it('twice by the same is safe, by another is refused; it cannot be tried again by itself', async () => {
    const target = await fixture.start(await fixture.agent([{ text: 'x' }]), { run: { delayMs: 3_600_000 } });
    expect(await absorber.absorb(target.run)).toMatchObject({ ok: true });
    expect(await absorber.absorb(target.run)).toMatchObject({ ok: true, run: target.run, actions: [] });
    const first = absorber;
    const other = gate<Absorbed>();
    fixture.tools.absorb = async (_args, { runId, worker, epoch }) => {
      other.resolve(await fixture.kernel.absorb(target.run, { run: runId, worker, epoch }));
      return 'tried';
    };
    await fixture.play(
      await fixture.agent([{ calls: [call('absorb')] }, { text: 'well' }], { tools: [codeTool('absorb')] }),
    );
    expect(await other.promise).toEqual({ ok: false, code: 'already_absorbed', by: first.run });
    expect(await fixture.kernel.retry(target.run)).toMatchObject({ ok: false, code: 'run_not_retryable' });
  });

  it('of a serial thread lets the next one in', async () => {
    const head = await fixture.start(await fixture.agent([{ text: 'x' }]), {
      run: { serial: true, delayMs: 3_600_000 },
    });
    const next = await fixture.start(await fixture.agent([{ text: 'next' }]), {
      thread: head.thread,
      run: { serial: true },
    });
    await absorber.absorb(head.run);
    expect(await fixture.ended(next.run)).toMatchObject({ status: 'completed' });
  });

  it('is refused: itself, one that is not there, another entity’s, another project’s, one that has ended', async () => {
    expect(await absorber.absorb(absorber.run)).toEqual({ ok: false, code: 'cannot_absorb_itself' });
    expect(await absorber.absorb(fixture.ids.agent)).toEqual({ ok: false, code: 'run_not_found' });

    const waiting = { delayMs: 3_600_000 };
    const other = await buildAgent(fixture.db, fixture.ids);
    const foreign = await fixture.start(await fixture.agent([{ text: 'x' }]), {
      run: { ...waiting, entity: other.entity, agent: other.agent },
    });
    expect(await absorber.absorb(foreign.run)).toEqual({ ok: false, code: 'not_your_run' });
    expect((await fixture.row(foreign.run)).status).toBe('queued');

    const project = await buildProject(fixture.db);
    const item = buildStart(project, await buildSnapshot(fixture.db, project), 'go', { run: waiting });
    await fixture.kernel.start(item);
    expect(await absorber.absorb(item.run.id)).toEqual({ ok: false, code: 'run_not_found' });

    const ended = await fixture.play(await fixture.agent([{ text: 'done' }]));
    expect(await absorber.absorb(ended.run)).toEqual({ ok: false, code: 'run_ended', status: 'completed' });
    const canceled = await fixture.start(await fixture.agent([{ text: 'x' }]), { run: waiting });
    await fixture.kernel.cancel(canceled.run);
    expect(await absorber.absorb(canceled.run)).toEqual({ ok: false, code: 'run_ended', status: 'canceled' });
  });
});
