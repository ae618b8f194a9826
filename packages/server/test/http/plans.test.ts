import type { Plan, Problem } from '@troupe/protocol';
import { MOST_PLANS } from '@troupe/protocol';
import { newId, silentLogger } from '@troupe/server';
import { planTasks } from '@troupe/server/parts';
import { contention, openServer, plainDoor, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { rearmPlans } from '../../src/store/queries/plans.ts';

// Plans and service triggers over HTTP, with jobs that are carried out.

let server: TestServer;

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: () => ({ text: 'Done.' }),
    jobs: true,
    // Until runs of spaces have what they need: the thread as it is.
    doors: [{ ...plainDoor, name: 'space' }],
  });
});
afterAll(async () => {
  expect(await violations(server.db.pool)).toEqual([]);
  await server.close();
});

async function ask<Body = unknown>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
}
async function done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await ask<Body>(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}
const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await ask<Problem>(method, path, body);
  return [answer.status, answer.body?.code];
};

/** A new agent, and where its plans are. */
async function agent(more: object = {}) {
  const { id } = await done<{ id: string }>('POST', '/agents', { name: newId(), ...more });
  return { id, at: `/agents/${id}/plans` };
}
const plan = (at: string, body: object) => done<Plan>('POST', at, { name: newId(), ...body });
const get = (at: string, { id }: Plan) => done<Plan>('GET', `${at}/${id}`);

interface Run {
  id: string;
  status: string;
  trigger_type: string;
  trigger: { planId: string; scheduledAt: string };
  door: string;
  error: { code: string; message: string } | null;
}
const runsOf = async (id: string): Promise<Run[]> => {
  const { rows } = await server.db.pool.query(
    `select * from troupe.runs where trigger->>'planId' = $1 order by created_at`,
    [id],
  );
  return rows;
};
const jobsOf = async ({ id }: Plan): Promise<{ run_at: Date }[]> => {
  const { rows } = await server.db.pool.query('select run_at from graphile_worker.jobs where key = $1', [
    `plan:${id}`,
  ]);
  return rows;
};
/** As if that had been its time; answers which one. */
const dueAt = async (id: string, at: string): Promise<string> => {
  const { rows } = await server.db.pool.query<{ at: Date }>(
    `update troupe.plans set next_run_at = date_trunc('milliseconds', ${at}), status = 'pending' where id = $1
      returning next_run_at as at`,
    [id],
  );
  return rows[0]!.at.toISOString();
};
/** As its job does. */
const deliver = (planId: string) =>
  planTasks(server.kernel).fire_plan!(
    { planId },
    {
      ...{ db: server.db, logger: silentLogger, signal: new AbortController().signal },
      ...{ attempt: 1, lastAttempt: false },
    },
  );
const fired = (at: string, made: Plan) =>
  until('the plan has fired', async () => {
    const now = await get(at, made);
    return now.lastRunId === null ? null : now;
  });

test('a plan due in a second runs a second later, once, and tells the run what it was for', async () => {
  const { id, at } = await agent();
  const made = await plan(at, { name: 'Remind Ada', instruction: 'Say hello.', runAfter: '1 second' });
  expect(made).toMatchObject({
    ...{
      agentId: id,
      name: 'Remind Ada',
      instruction: 'Say hello.',
      runAfter: '1 second',
      status: 'pending',
    },
    ...{ scheduledAt: null, cron: null, timeZone: null, lastRunAt: null, lastRunId: null },
  });
  expect(made.nextRuns).toEqual([made.nextRunAt]);
  const after = await fired(at, made);
  expect(after).toMatchObject({ status: 'completed', nextRunAt: null, nextRuns: [] });
  const late = Date.parse(after.lastRunAt!) - Date.parse(made.nextRunAt!);
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late / contention()).toBeLessThan(4_000);
  const run = await until('its run has ended', async () => {
    const found = await done<Record<string, unknown>>('GET', `/runs/${after.lastRunId}`);
    return found.status === 'completed' ? found : null;
  });
  expect(run).toMatchObject({
    triggerType: 'plan',
    agentId: id,
    trigger: {
      planId: made.id,
      planName: 'Remind Ada',
      instruction: 'Say hello.',
      scheduledAt: made.nextRunAt,
    },
  });
  expect(await runsOf(made.id)).toMatchObject([{ id: after.lastRunId, door: 'space' }]);
  expect(await jobsOf(made)).toEqual([]);
});

test('a cron plan that missed ten times while nobody worked fires once, and goes on with the next time to come', async () => {
  const { at } = await agent();
  const made = await plan(at, { cron: '* * * * *', timeZone: 'Europe/Zurich' });
  expect(made.nextRuns).toHaveLength(5);
  expect(made.nextRuns[0]).toBe(made.nextRunAt);
  const missed = await dueAt(made.id, `now() - interval '10 minutes'`);
  const after = await fired(at, made);
  expect(after.status).toBe('pending');
  expect(Date.parse(after.nextRunAt!)).toBeGreaterThan(Date.parse(after.lastRunAt!));
  expect(await runsOf(made.id)).toMatchObject([{ id: after.lastRunId, trigger: { scheduledAt: missed } }]);
  expect((await jobsOf(made)).map(({ run_at }) => run_at.toISOString())).toEqual([after.nextRunAt]);
  // A one-time plan that was missed is not lost either.
  const once = await plan(at, { scheduledAt: '2100-01-01T00:00:00Z' });
  await dueAt(once.id, `now() - interval '3 days'`);
  expect(await fired(at, once)).toMatchObject({ status: 'completed' });
  expect(await runsOf(once.id)).toHaveLength(1);
});

test('a job that is delivered again and again, at once and later, starts one run for one time', async () => {
  const { at } = await agent();
  const made = await plan(at, { cron: '0 0 1 1 *' });
  await deliver(made.id); // too early
  expect(await runsOf(made.id)).toEqual([]);
  await dueAt(made.id, 'now()');
  await Promise.all(Array.from({ length: 8 }, () => deliver(made.id)));
  await deliver(made.id);
  expect(await runsOf(made.id)).toHaveLength(1);
  expect((await get(at, made)).status).toBe('pending');
  expect(await jobsOf(made)).toHaveLength(1);
  // The same time once more, however that came about: the run is known by the plan and its time.
  const [run] = await runsOf(made.id);
  await dueAt(made.id, `'${run!.trigger.scheduledAt}'::timestamptz`);
  await until('it has passed', async () => Date.parse((await get(at, made)).nextRunAt!) > Date.now());
  expect(await runsOf(made.id)).toHaveLength(1);
  await deliver(made.id);
  await deliver(newId());
});

test('a canceled, a deleted and a put off plan do not run; another time replaces the job', async () => {
  const { at } = await agent();
  const soon = () => plan(at, { runAfter: '1 hour' });
  const [canceled, deleted, put, marker] = await Promise.all([soon(), soon(), soon(), soon()]);
  expect(await done<Plan>('POST', `${at}/${canceled.id}/cancel`)).toMatchObject({
    ...{ status: 'canceled', nextRunAt: null, nextRuns: [] },
  });
  await done('DELETE', `${at}/${deleted.id}`);
  const later = await done<Plan>('PATCH', `${at}/${put.id}`, { scheduledAt: '2100-01-01T00:00:00+01:00' });
  expect(later).toMatchObject({ runAfter: null, scheduledAt: '2099-12-31T23:00:00.000Z', status: 'pending' });
  expect((await jobsOf(put)).map(({ run_at }) => run_at.toISOString())).toEqual([later.nextRunAt]);
  expect(await jobsOf(canceled)).toEqual([]);
  expect(await jobsOf(deleted)).toEqual([]);
  // The job that was there before, and had been taken already when the plan changed.
  for (const each of [canceled, deleted, put]) {
    await deliver(each.id);
    expect(await runsOf(each.id)).toEqual([]);
  }
  await dueAt(marker.id, 'now()');
  await fired(at, marker);
  expect(await refused('GET', `${at}/${deleted.id}`)).toEqual([404, 'not_found']);
  expect(await refused('DELETE', `${at}/${deleted.id}`)).toEqual([404, 'not_found']);
  // A new time makes what was canceled or has run pending again; anything else does not.
  await done('PATCH', `${at}/${canceled.id}`, { instruction: 'x' });
  expect((await get(at, canceled)).status).toBe('canceled');
  const again = await done<Plan>('PATCH', `${at}/${marker.id}`, { cron: '0 9 * * *' });
  expect(again).toMatchObject({ status: 'pending', runAfter: null, timeZone: 'UTC' });
  const zoned = await done<Plan>('PATCH', `${at}/${marker.id}`, { timeZone: 'Asia/Tokyo' });
  expect(zoned).toMatchObject({ cron: '0 9 * * *', timeZone: 'Asia/Tokyo' });
  expect(zoned.nextRunAt).toMatch(/T00:00:00/);
  expect(await refused('PATCH', `${at}/${put.id}`, { timeZone: 'Asia/Tokyo' })).toEqual([
    422,
    'plan_without_time',
  ]);
});

test('an agent that is archived when a plan is due takes no work: the plan goes on, and the audit log tells', async () => {
  const { id, at } = await agent();
  const [once, often] = [
    await plan(at, { scheduledAt: '2100-01-01T00:00:00Z' }),
    await plan(at, { cron: '0 9 * * *' }),
  ];
  await done('PATCH', `/agents/${id}`, { status: 'archived' });
  for (const each of [once, often]) await dueAt(each.id, 'now()');
  const skipped = await until('both were skipped', async () => {
    const { data } = await done<{ data: { target: string; data: object }[] }>(
      'GET',
      '/audit?action=plan.skipped',
    );
    return data.length === 2 ? data : null;
  });
  expect(skipped.map(({ target }) => target).toSorted()).toEqual([once.id, often.id].toSorted());
  expect(skipped[0]!.data).toMatchObject({ why: 'agent_archived' });
  expect(await get(at, once)).toMatchObject({ status: 'completed', lastRunId: null, lastRunAt: null });
  const next = await get(at, often);
  expect(next).toMatchObject({ status: 'pending', lastRunId: null });
  expect(Date.parse(next.nextRunAt!)).toBeGreaterThan(Date.now());
  expect([...(await runsOf(once.id)), ...(await runsOf(often.id))]).toEqual([]);
  expect(await refused('POST', at, { name: 'x', runAfter: '1 day' })).toEqual([409, 'agent_archived']);
});

test('with a model that is disabled when the plan is due, the run fails and says why; the model is not called', async () => {
  const provider = await done<{ id: string }>('POST', '/providers', { kind: 'demo', name: newId() });
  const model = await done<{ id: string }>('POST', `/providers/${provider.id}/models`, { modelId: 'm' });
  const { id, at } = await agent({ defaultModelId: model.id });
  const made = await plan(at, { runAfter: '1 day' });
  await done('PATCH', `/models/${model.id}`, { status: 'disabled' });
  await dueAt(made.id, 'now()');
  const run = await until('its run has failed', async () => {
    const [found] = await runsOf(made.id);
    return found?.status === 'failed' ? found : null;
  });
  expect(run.error).toMatchObject({ code: 'unknown_model', message: expect.stringContaining(model.id) });
  expect(await get(at, made)).toMatchObject({ status: 'completed', lastRunId: run.id });
  expect(await refused('POST', `/agents/${id}/trigger`, { serviceName: 's' })).toEqual([
    422,
    'model_not_found',
  ]);
});

test('plans of all agents are listed together, page by page and by status', async () => {
  const [one, two] = [await agent(), await agent()];
  const first = await plan(one.at, { cron: '0 9 * * *' });
  const second = await plan(two.at, { runAfter: '2 hours' });
  await done('POST', `${two.at}/${second.id}/cancel`);
  const page = await done<{ data: Plan[]; nextCursor: string }>('GET', '/plans?limit=1');
  expect(page.data).toEqual([
    expect.objectContaining({ id: second.id, agentId: two.id, status: 'canceled' }),
  ]);
  const next = await done<{ data: Plan[] }>('GET', `/plans?limit=1&cursor=${page.nextCursor}`);
  expect(next.data).toEqual([first]);
  const pending = await done<{ data: Plan[] }>('GET', '/plans?status=pending&limit=200');
  expect(pending.data.map(({ id }) => id)).toContain(first.id);
  expect(pending.data.map(({ id }) => id)).not.toContain(second.id);
  const elsewhere = await done<{ key: string }>('POST', '/projects', { name: newId() });
  const theirs = await ask<{ data: Plan[] }>('GET', '/plans', undefined, {
    authorization: `Bearer ${elsewhere.key}`,
  });
  expect(theirs.body.data).toEqual([]);
});

test('what cannot be planned is refused, and nothing changes', async () => {
  const { at } = await agent();
  const kept = await plan(at, { name: 'Kept', cron: '0 9 * * *' });
  const bad: [object, number, string][] = [
    [{}, 422, 'plan_without_time'],
    [{ runAfter: '1 day', cron: '0 9 * * *' }, 422, 'plan_with_two_times'],
    [{ cron: '0 0 30 2 *' }, 422, 'plan_never_runs'],
    [{ cron: '* * * * * *' }, 422, 'plan_time_invalid'],
    [{ cron: '0 9 * * *', timeZone: 'Mars/Olympus' }, 422, 'plan_time_invalid'],
    [{ scheduledAt: '2001-01-01T00:00:00Z' }, 422, 'plan_time_invalid'],
    [{ scheduledAt: 'tomorrow' }, 422, 'invalid_request'],
    [{ runAfter: 'a while' }, 422, 'plan_time_invalid'],
    [{ runAfter: '1 day', name: ' ' }, 422, 'invalid_request'],
    [{ runAfter: '1 day', name: 'kEPT' }, 409, 'name_taken'],
    [{ runAfter: '1 day', instruction: 'x'.repeat(20_001) }, 422, 'invalid_request'],
    [{ runAfter: '1 day', unknown: 1 }, 422, 'invalid_request'],
  ];
  for (const [body, status, code] of bad) {
    expect([body, ...(await refused('POST', at, { name: 'n', ...body }))]).toEqual([body, status, code]);
  }
  const other = await plan(at, { name: 'Other', runAfter: '1 day' });
  expect(await refused('PATCH', `${at}/${other.id}`, { name: 'KEPT' })).toEqual([409, 'name_taken']);
  expect(await refused('PATCH', `${at}/${kept.id}`, { cron: '0 0 30 2 *' })).toEqual([
    422,
    'plan_never_runs',
  ]);
  expect(await get(at, kept)).toEqual(kept);
  expect(await refused('GET', `${at.replace(/^\/agents\/[^/]+/, `/agents/${newId()}`)}`)).toEqual([
    404,
    'not_found',
  ]);
  const elsewhere = await agent();
  expect(await refused('GET', `${elsewhere.at}/${kept.id}`)).toEqual([404, 'not_found']);
  const first = await done<{ data: Plan[]; nextCursor: string }>('GET', `${at}?limit=1`);
  const second = await done<{ data: Plan[] }>('GET', `${at}?limit=1&cursor=${first.nextCursor}`);
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual([other.id, kept.id]);
  expect((await done<{ data: Plan[] }>('GET', `${at}?status=completed`)).data).toEqual([]);
});

test('an agent has so many plans that have yet to run and no more, also where many are made at once', async () => {
  const { id, at } = await agent();
  const { entityId } = await plan(at, { runAfter: '1 day' });
  await server.db.pool.query(
    `insert into troupe.plans (id, project_id, agent_id, entity_id, name, run_after, next_run_at)
      select gen_random_uuid(), e.project_id, $1, e.id, 'n' || i, '1 day', now() + '1 day' from troupe.entities e, generate_series(1, $3) i where e.id = $2`,
    [id, entityId, MOST_PLANS - 3],
  );
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      ask<{ id: string; code: string }>('POST', at, { name: newId(), runAfter: '1 day' }),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409, 409]);
  expect(answers.find(({ status }) => status === 409)!.body.code).toBe('too_many_plans');
  const made = answers.find(({ status }) => status === 201)!.body;
  // One that is pending may change; one that is not has no place left.
  await done('PATCH', `${at}/${made.id}`, { runAfter: '2 days' });
  await done('POST', `${at}/${made.id}/cancel`);
  const more = await plan(at, { runAfter: '1 day' });
  expect(await refused('PATCH', `${at}/${made.id}`, { runAfter: '1 day' })).toEqual([409, 'too_many_plans']);
  await done('DELETE', `${at}/${more.id}`);
  await done('PATCH', `${at}/${made.id}`, { runAfter: '1 day' });
});

test('a plan whose job was lost gets another', async () => {
  const { at } = await agent();
  const made = await plan(at, { runAfter: '1 day' });
  await server.db.pool.query(
    `do $$ begin
      update troupe.plans set next_run_at = now() - interval '2 minutes' where id = '${made.id}';
      perform graphile_worker.remove_job('plan:${made.id}');
    end $$`,
  );
  expect(await jobsOf(made)).toEqual([]);
  expect(await rearmPlans(server.db, 60)).toBe(1);
  expect(await fired(at, made)).toMatchObject({ status: 'completed' });
  expect(await rearmPlans(server.db, 60)).toBe(0);
});

test('a service starts a run with what it has to tell; sent again with the same key, no other', async () => {
  const { id } = await agent();
  const body = { serviceName: 'billing', payload: { invoice: 7, lines: ['a', null] } };
  const headers = { 'idempotency-key': newId() };
  const first = await ask<{ runId: string; agentEntityId: string }>(
    'POST',
    `/agents/${id}/trigger`,
    body,
    headers,
  );
  expect(first).toMatchObject({ status: 201, body: { status: 'queued' } });
  expect(await ask('POST', `/agents/${id}/trigger`, body, headers)).toEqual(first);
  const run = await until('it has ended', async () => {
    const found = await done<Record<string, unknown>>('GET', `/runs/${first.body.runId}`);
    return found.status === 'completed' ? found : null;
  });
  expect(run).toMatchObject({ triggerType: 'service', trigger: body, agentId: id });
  const { rows } = await server.db.pool.query(
    `select r.entity_id, t.kind, r.door, r.space_id from troupe.runs r join troupe.threads t on t.id = r.thread_id where r.agent_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ entity_id: first.body.agentEntityId, kind: 'run', door: 'space', space_id: null }]);
  const without = await done<{ runId: string }>('POST', `/agents/${id}/trigger`, { serviceName: 's' });
  expect(await done('GET', `/runs/${without.runId}`)).toMatchObject({ trigger: { payload: null } });
  const payload = 'é'.repeat(32_767);
  await done('POST', `/agents/${id}/trigger`, { serviceName: 's', payload });
  expect(
    await refused('POST', `/agents/${id}/trigger`, { serviceName: 's', payload: `${payload}.` }),
  ).toEqual([...[413, 'payload_too_large']]);
  expect(await refused('POST', `/agents/${id}/trigger`, {})).toEqual([422, 'invalid_request']);
  expect(await refused('POST', `/agents/${newId()}/trigger`, { serviceName: 's' })).toEqual([
    404,
    'not_found',
  ]);
  await done('PATCH', `/agents/${id}`, { status: 'archived' });
  expect(await refused('POST', `/agents/${id}/trigger`, { serviceName: 's' })).toEqual([
    409,
    'agent_archived',
  ]);
});
