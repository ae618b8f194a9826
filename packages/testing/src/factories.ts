import { type AgentSnapshotInput, agentSnapshot } from '@troupe/protocol';
import { type Database, type NewRun, newId, type StartItem, saveSnapshot } from '@troupe/server';

/** A project with one agent: what every run needs to stand on. */
export interface AgentIds {
  project: string;
  agent: string;
  entity: string;
}

export async function buildProject(db: Database): Promise<AgentIds> {
  const ids = { project: newId(), agent: newId(), entity: newId() };
  await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [
    ids.project,
    `project ${ids.project}`,
  ]);
  await db.pool.query('insert into troupe.agents (id, project_id, name) values ($1, $2, $3)', [
    ids.agent,
    ids.project,
    'agent',
  ]);
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, agent_id) values ($1, $2, 'agent', $3)`,
    [ids.entity, ids.project, ids.agent],
  );
  return ids;
}

/** Another agent of the same project. */
export async function buildAgent(db: Database, ids: AgentIds): Promise<AgentIds> {
  const other = { project: ids.project, agent: newId(), entity: newId() };
  await db.pool.query('insert into troupe.agents (id, project_id, name) values ($1, $2, $3)', [
    other.agent,
    ids.project,
    `agent ${other.agent}`,
  ]);
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, agent_id) values ($1, $2, 'agent', $3)`,
    [other.entity, ids.project, other.agent],
  );
  return other;
}

export async function buildSnapshot(
  db: Database,
  ids: AgentIds,
  input: Partial<AgentSnapshotInput> = {},
): Promise<string> {
  const snapshot = agentSnapshot.parse({
    kind: 'agent',
    name: 'agent',
    models: [{ provider: 'scripted', model: 'script' }],
    ...input,
  });
  return saveSnapshot(db, ids.project, snapshot);
}

/** A start item for a run in a thread of its own, with a message that triggers it. */
export function buildStart(
  ids: AgentIds,
  snapshot: string,
  text: string,
  options: { run?: Partial<NewRun>; thread?: string; message?: string } = {},
): StartItem & { run: NewRun; message: NonNullable<StartItem['message']> } {
  return {
    project: ids.project,
    thread: options.thread ?? newId(),
    ...(options.thread ? {} : { createThread: 'run' as const }),
    message: { id: options.message ?? newId(), role: 'user', content: { text } },
    run: {
      id: newId(),
      door: 'plain',
      agent: ids.agent,
      entity: ids.entity,
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
  ids: AgentIds,
): Promise<{ session: string; thread: string; person: string; path: string }> {
  const built = { session: newId(), thread: newId(), person: newId() };
  await db.pool.query(`insert into troupe.entities (id, project_id, type) values ($1, $2, 'human')`, [
    built.person,
    ids.project,
  ]);
  await db.pool.query(`insert into troupe.threads (id, project_id, kind) values ($1, $2, 'session')`, [
    built.thread,
    ids.project,
  ]);
  await db.pool.query(
    'insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id) values ($1, $2, $3, $4, $5)',
    [built.session, ids.project, ids.agent, built.person, built.thread],
  );
  return { ...built, path: `/v1/agents/${ids.agent}/sessions/${built.session}` };
}
