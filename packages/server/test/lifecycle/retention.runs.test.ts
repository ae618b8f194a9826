import type { UsageReport } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { firstIdAt } from '../../src/store/queries/retention-rest.ts';
import { LifecycleFixture } from './fixture.ts';

let fixture: LifecycleFixture;
beforeAll(async () => {
  fixture = await LifecycleFixture.open({ jobs: true });
});
afterEach(() => fixture.troupe.retention.set({ body: {} }));
afterAll(() => fixture.close());

/** A run in no session. */
async function service(text: string): Promise<string> {
  const { runId } = await fixture.troupe.services.trigger({
    params: { agentId: fixture.agentId },
    body: { serviceName: 'test', payload: `say_${text.replaceAll(' ', '_')}` },
  });
  await until('the run ended or waits', async () =>
    ['completed', 'failed', 'canceled', 'waiting_tool'].includes((await run(runId)).status),
  );
  return runId;
}
const run = (runId: string) => fixture.troupe.runs.get({ params: { runId } });
const isGone = (runId: string) =>
  run(runId).then(
    () => false,
    (error: { status: number }) => error.status === 404,
  );
const threadOf = async (runId: string) => (await run(runId)).threadId;
const rowsOf = async (runId: string) => {
  const counts: Record<string, number> = {};
  for (const table of ['run_steps', 'tool_calls', 'run_heads', 'run_prompts'])
    counts[table] = await fixture.count(table, `run_id = '${runId}'`);
  return counts;
};

async function usage(by: 'none' | 'model' | 'agent'): Promise<UsageReport> {
  const report = await fixture.troupe.usage.read({
    query: {
      from: new Date(Date.now() - 20 * 86_400_000).toISOString(),
      to: new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000).toISOString(),
      interval: 'hour',
      by,
    },
  });
  return { ...report, to: '', series: report.series.filter(({ points }) => points.length > 0) };
}

describe('runs', () => {
  test('keeps the answer and the usage of a run, and deletes the rest', async () => {
    const session = await fixture.session();
    const inSession = await fixture.say(session, 'use it');
    const alone = await service('use it');
    const failed = await service('fail');
    const thread = await threadOf(alone);
    const before = await run(alone);
    await fixture.age(10);
    const recent = await service('use it again');
    await fixture.troupe.retention.set({ body: { runs: { keepResultAfterDays: 7 } } });
    await fixture.retain();
    for (const id of [inSession, alone])
      expect(await rowsOf(id)).toEqual({ run_steps: 0, tool_calls: 0, run_heads: 0, run_prompts: 0 });
    expect((await rowsOf(recent)).run_steps).toBe(2);
    expect(await fixture.count('messages', `thread_id = '${thread}'`)).toBe(0);
    expect(await fixture.count('event_batches', `thread_id = '${thread}'`)).toBe(0);
    expect(await run(alone)).toMatchObject({
      outcome: before.outcome,
      status: 'completed',
      step: before.step,
      usage: before.usage,
      steps: [],
      calls: [],
    });
    const params = { agentId: session.agentId, sessionId: session.id };
    expect((await fixture.troupe.sessions.listMessages({ params })).data).toHaveLength(4);
    // The session goes on: its messages are what a model needs.
    await fixture.say(session, 'and now?');
    expect((await fixture.troupe.sessions.listMessages({ params })).data).toHaveLength(6);
    // A failed run that took a step cannot be retried; there is nothing left of it.
    expect((await run(failed)).status).toBe('failed');
    await fixture.db.pool.query('update troupe.runs set step = 1 where id = $1', [failed]);
    await expect(fixture.troupe.runs.retry({ params: { runId: failed } })).rejects.toMatchObject({
      code: 'run_purged',
    });
  });

  test('deletes runs outside sessions, not those that have not ended', async () => {
    const old = await service('use it');
    const waiting = await service('wait');
    const session = await fixture.session();
    const inSession = await fixture.say(session, 'use it');
    await fixture.age(10);
    await fixture.troupe.retention.set({ body: { runs: { deleteAfterDays: 7 } } });
    const { data } = await fixture.troupe.retention.preview();
    const due = data.find(({ kind }) => kind === 'runs')!;
    expect(due.count).toBeGreaterThanOrEqual(1);
    expect(due.oldest).not.toBe(null);
    await fixture.retain();
    expect(await isGone(old)).toBe(true);
    expect(await isGone(inSession)).toBe(false);
    expect((await run(waiting)).status).toBe('waiting_tool');
    expect(await fixture.count('tombstones', `collection = 'runs' and id = '${old}'`)).toBe(1);
    // It is found again after it has ended.
    await fixture.troupe.runs.cancel({ params: { runId: waiting } });
    await fixture.age(8);
    await fixture.retain();
    expect(await isGone(waiting)).toBe(true);
  });

  test('reports the same usage after a purge', async () => {
    await service('use it');
    await fixture.say(await fixture.session(), 'use it');
    await fixture.age(10);
    await service('hello');
    const removed = await fixture.session();
    await fixture.say(removed, 'hello');
    const before = { all: await usage('none'), model: await usage('model'), agent: await usage('agent') };
    expect(before.model.total.inputTokens).toBeGreaterThan(0);
    // Sums of hours that are over would be kept: without them, everything is counted again.
    const forget = () => fixture.db.pool.query('delete from troupe.usage_sums');
    await forget();
    await fixture.troupe.retention.set({
      body: { runs: { keepResultAfterDays: 7, deleteAfterDays: 9 }, sessions: { deleteAfterDays: 8 } },
    });
    await fixture.retain();
    await fixture.troupe.sessions.remove({ params: { agentId: removed.agentId, sessionId: removed.id } });
    expect(await usage('none')).toEqual(before.all);
    expect(await usage('model')).toEqual(before.model);
    expect(await usage('agent')).toEqual(before.agent);
    await forget();
    const [{ rows }] = [await fixture.db.pool.query('select count(*)::int as n from troupe.runs')];
    expect(rows[0].n).toBeLessThan(before.all.total.started);
  });
});

describe('events and files', () => {
  test('deletes old events, and streams go on from what is left', async () => {
    const session = await fixture.session();
    await fixture.say(session, 'use it');
    await fixture.say(session, 'once more');
    const last = async () =>
      (await fixture.troupe.sessions.get({ params: { agentId: session.agentId, sessionId: session.id } }))
        .lastActivityAt;
    await fixture.age(10);
    const activity = await last();
    await fixture.troupe.retention.set({ body: { events: { deleteAfterDays: 7 } } });
    await fixture.retain();
    expect(await fixture.count('event_batches', `thread_id = '${session.threadId}'`)).toBe(1);
    expect(await last()).toBe(activity);
    await fixture.say(session, 'still there?');
    const params = { agentId: session.agentId, sessionId: session.id };
    const { data, lastSequence } = await fixture.troupe.sessions.events({ params, query: { after: 0 } });
    expect(data.at(-1)!.sequence).toBe(lastSequence);
    const sequences = data.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => sequences[0]! + index));
    expect(sequences[0]).toBeGreaterThan(1);
  });

  test('deletes files that were not written for long, and keeps the totals right', async () => {
    const session = await fixture.session();
    const address = `${fixture.server.url}/v1/agents/${session.agentId}/sessions/${session.id}/files`;
    const put = (path: string, body: string) =>
      fetch(`${address}/content?path=${path}`, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'text/plain' },
      });
    expect((await put('/old.txt', 'twelve bytes')).status).toBeLessThan(300);
    await fixture.age(10);
    expect((await put('/new.txt', 'new')).status).toBeLessThan(300);
    await fixture.troupe.retention.set({ body: { files: { deleteAfterDays: 7 } } });
    await fixture.retain();
    const params = { agentId: session.agentId, sessionId: session.id };
    const { data, totals } = await fixture.troupe.files.list({ params });
    expect(data.map(({ path }) => path)).toEqual(['/new.txt']);
    expect(totals).toEqual({ files: 1, bytes: 3 });
  });
});

describe('deliveries, plans and batches', () => {
  test('deletes deliveries that have ended', async () => {
    const trigger = newId();
    await fixture.db.pool.query(
      `insert into troupe.triggers (id, project_id, name, definition, collections, pattern, events, enabled) values ($1, $2, 'x', '{}', '{}', 'x', '{}', false)`,
      [trigger, fixture.project],
    );
    // Its id is as old as it is.
    const deliver = async (days: number, status: 'delivered' | 'dead' | 'pending') => {
      const id = `${firstIdAt(new Date(Date.now() - days * 86_400_000)).slice(0, 14)}7${newId().slice(15)}`;
      const times = status === 'pending' ? 'now(), null' : `null, now() - make_interval(days => ${days})`;
      await fixture.db.pool.query(
        `insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own, changed_at, status, next_attempt_at, ended_at)
          values ($1, $2, $3, 1, 1, $4, 'create', 'x', 'x', 0, false, now(), $5, ${times})`,
        [id, fixture.project, trigger, Math.floor(Math.random() * 1e9), status],
      );
      return id;
    };
    await deliver(4, 'delivered');
    await deliver(5, 'dead');
    const kept = [await deliver(1, 'delivered'), await deliver(6, 'pending')];
    await fixture.troupe.retention.set({ body: { deliveries: { deleteAfterDays: 3 } } });
    await fixture.retain();
    const { rows } = await fixture.db.pool.query(
      'select id from troupe.trigger_deliveries where trigger_id = $1',
      [trigger],
    );
    expect(rows.map(({ id }) => id).sort()).toEqual(kept.sort());
  });

  test('deletes plans that have ended', async () => {
    const plan = (name: string, scheduledAt: Date) =>
      fixture.troupe.plans.create({
        params: { agentId: fixture.agentId },
        body: { name, instruction: 'say', scheduledAt: scheduledAt.toISOString() },
      });
    const later = await plan('later', new Date(Date.now() + 86_400_000));
    const ended = await plan('ended', new Date(Date.now() + 86_400_000));
    await fixture.troupe.plans.cancel({ params: { agentId: fixture.agentId, planId: ended.id } });
    await fixture.age(10);
    await fixture.troupe.retention.set({ body: { runs: { deleteAfterDays: 7 } } });
    await fixture.retain();
    const { rows } = await fixture.db.pool.query('select id from troupe.plans where agent_id = $1', [
      fixture.agentId,
    ]);
    expect(rows).toEqual([{ id: later.id }]);
  });

  test('deletes a finished batch with its runs, and leaves one that goes on', async () => {
    const batch = async (days: number, items: { status: string; run: string | null }[]) => {
      const id = `${firstIdAt(new Date(Date.now() - days * 86_400_000)).slice(0, 14)}7${newId().slice(15)}`;
      const snapshot = await fixture.db.pool.query('select id from troupe.compiled_snapshots limit 1');
      await fixture.db.pool.query(
        `insert into troupe.network_batches (id, project_id, network_id, network_name, network_version, snapshot_id, agent, wall_ms, iterations, concurrency, created_at)
          values ($1, $2, $3, 'n', 1, $4, 'x', 1000, 1, 1, now() - make_interval(days => $5))`,
        [id, fixture.project, newId(), snapshot.rows[0].id, days],
      );
      for (const [index, { status, run }] of items.entries()) {
        await fixture.db.pool.query(
          `insert into troupe.network_batch_rows (batch_id, row_number, input) values ($1, $2, '{}')`,
          [id, index + 1],
        );
        await fixture.db.pool.query(
          `insert into troupe.network_batch_items (batch_id, row_number, iteration, status, run_id, ended_at)
            values ($1, $2, 1, $3, $4, case when $3 = 'completed' then now() - make_interval(days => $5) end)`,
          [id, index + 1, status, run, days],
        );
        await fixture.db.pool.query(`update troupe.runs set lane = 'batch:' || $2 where id = $1`, [run, id]);
      }
      return id;
    };
    const runs = [await service('one'), await service('two'), await service('three')];
    await fixture.age(10);
    const finished = await batch(10, [
      { status: 'completed', run: runs[0]! },
      { status: 'completed', run: runs[1]! },
    ]);
    const open = await batch(10, [
      { status: 'completed', run: runs[2]! },
      { status: 'pending', run: null },
    ]);
    await fixture.troupe.retention.set({ body: { runs: { deleteAfterDays: 7 } } });
    await fixture.retain();
    expect(await fixture.count('network_batches', `id = '${finished}'`)).toBe(0);
    expect(await fixture.count('network_batch_items', `batch_id = '${finished}'`)).toBe(0);
    expect(await fixture.count('network_batch_items', `batch_id = '${open}'`)).toBe(2);
    expect(await Promise.all(runs.map(isGone))).toEqual([true, true, false]);
  });
});

describe('audit log', () => {
  const add = (days: number, action: string) =>
    fixture.db.pool.query(
      `insert into troupe.audit_log (project_id, actor_kind, action, created_at) values ($1, 'system', $2, now() - make_interval(days => $3))`,
      [fixture.project, action, days],
    );

  test('is deleted by its rule and by nothing else', async () => {
    // The oldest entry has the smallest id, as with every entry that was written in its time.
    const { rows } = await fixture.db.pool.query(
      'select id, created_at from troupe.audit_log order by id limit 1',
    );
    await fixture.db.pool.query('alter table troupe.audit_log disable trigger audit_log_final');
    await fixture.db.pool.query(
      `update troupe.audit_log set created_at = now() - interval '500 days' where id = $1`,
      [rows[0].id],
    );
    await fixture.db.pool.query('alter table troupe.audit_log enable trigger audit_log_final');
    await add(100, 'test.newer');
    const remove = (id: number) => fixture.db.pool.query('delete from troupe.audit_log where id = $1', [id]);
    await expect(remove(rows[0].id)).rejects.toThrow('only added to');
    await fixture.troupe.retention.set({ body: { audit: { deleteAfterDays: 400 } } });
    await expect(
      fixture.db.pool.query(`delete from troupe.audit_log where action = 'test.newer'`),
    ).rejects.toThrow('only added to');
    await expect(fixture.db.pool.query('truncate troupe.audit_log')).rejects.toThrow('only added to');
    await fixture.retain();
    expect(await fixture.count('audit_log', `id = ${rows[0].id}`)).toBe(0);
    expect(await fixture.count('audit_log', `action = 'test.newer'`)).toBe(1);
    const { data } = await fixture.troupe.access.listAudit({ query: { action: 'retention.' } });
    expect(data[0]).toMatchObject({ action: 'retention.purged', data: { audit: 1 } });
    expect(data[1]).toMatchObject({ action: 'retention.changed' });
  });
});

test('refuses rules that are no days, and another project’s agent', async () => {
  for (const body of [
    { sessions: { deleteAfterDays: 0 } },
    { sessions: { deleteAfterDays: 1.5 } },
    { deliveries: { deleteAfterDays: 31 } },
    { messages: { deleteAfterDays: 1 } },
  ])
    await expect(fixture.troupe.retention.set({ body: body as never })).rejects.toMatchObject({
      status: 422,
    });
  const params = { agentId: newId() };
  await expect(fixture.troupe.retention.setForAgent({ params, body: {} })).rejects.toMatchObject({
    status: 404,
  });
});
