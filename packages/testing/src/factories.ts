import { type AgentSnapshotInput, agentSnapshot } from '@troupe/protocol';
import { type Database, type NewRun, newId, type StartItem, saveSnapshot } from '@troupe/server';

/** A project with one agent: what every run needs to stand on. */
export interface Cast {
  project: string;
  agent: string;
  entity: string;
}

export async function buildCast(db: Database): Promise<Cast> {
  const cast = { project: newId(), agent: newId(), entity: newId() };
  await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [
    cast.project,
    `project ${cast.project}`,
  ]);
  await db.pool.query('insert into troupe.agents (id, project_id, name) values ($1, $2, $3)', [
    cast.agent,
    cast.project,
    'agent',
  ]);
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, agent_id) values ($1, $2, 'agent', $3)`,
    [cast.entity, cast.project, cast.agent],
  );
  return cast;
}

/** Another agent of the same project. */
export async function buildAgent(db: Database, cast: Cast): Promise<Cast> {
  const other = { project: cast.project, agent: newId(), entity: newId() };
  await db.pool.query('insert into troupe.agents (id, project_id, name) values ($1, $2, $3)', [
    other.agent,
    cast.project,
    `agent ${other.agent}`,
  ]);
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, agent_id) values ($1, $2, 'agent', $3)`,
    [other.entity, cast.project, other.agent],
  );
  return other;
}

export async function buildSnapshot(
  db: Database,
  cast: Cast,
  input: Partial<AgentSnapshotInput> = {},
): Promise<string> {
  const snapshot = agentSnapshot.parse({
    kind: 'agent',
    name: 'agent',
    models: [{ provider: 'scripted', model: 'script' }],
    ...input,
  });
  return saveSnapshot(db, cast.project, snapshot);
}

/** A start item for a run in a thread of its own, with a message that triggers it. */
export function buildStart(
  cast: Cast,
  snapshot: string,
  text: string,
  options: { run?: Partial<NewRun>; thread?: string; message?: string } = {},
): StartItem & { run: NewRun; message: NonNullable<StartItem['message']> } {
  return {
    project: cast.project,
    thread: options.thread ?? newId(),
    ...(options.thread ? {} : { createThread: 'run' as const }),
    message: { id: options.message ?? newId(), role: 'user', content: { text } },
    run: {
      id: newId(),
      door: 'plain',
      agent: cast.agent,
      entity: cast.entity,
      snapshot,
      triggerType: 'message',
      wallMs: 3_600_000,
      ...options.run,
    },
  };
}

/** A session of a person with the agent of the cast, on an empty thread. */
export async function buildSession(
  db: Database,
  cast: Cast,
): Promise<{ session: string; thread: string; person: string; path: string }> {
  const built = { session: newId(), thread: newId(), person: newId() };
  await db.pool.query(`insert into troupe.entities (id, project_id, type) values ($1, $2, 'human')`, [
    built.person,
    cast.project,
  ]);
  await db.pool.query(`insert into troupe.threads (id, project_id, kind) values ($1, $2, 'session')`, [
    built.thread,
    cast.project,
  ]);
  await db.pool.query(
    'insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id) values ($1, $2, $3, $4, $5)',
    [built.session, cast.project, cast.agent, built.person, built.thread],
  );
  return { ...built, path: `/v1/agents/${cast.agent}/sessions/${built.session}` };
}
