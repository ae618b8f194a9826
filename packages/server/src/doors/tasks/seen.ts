import { notFound } from '../../base/index.ts';
import * as store from '../../store/index.ts';

// What is told of tasks and sub-agents to those outside. A person sees their own.

type Parts = { db: store.Database };

export async function getTask({ db }: Parts, who: store.TaskScope, id: string): Promise<store.TaskRecord> {
  const task = await store.taskRecord(db, who, id);
  if (!task) throw notFound('task');
  return task;
}

export function listTasks(
  { db }: Parts,
  who: store.TaskScope,
  filter: store.TaskFilter,
): Promise<store.TaskRecord[]> {
  return store.listTasks(db, who, filter);
}

export async function getSubAgent(
  { db }: Parts,
  who: store.TaskScope,
  id: string,
): Promise<store.SubAgentRecord> {
  const subAgent = await store.subAgentRecord(db, who, id);
  if (!subAgent) throw notFound('sub-agent');
  return subAgent;
}

export function listSubAgents(
  { db }: Parts,
  who: store.TaskScope,
  filter: store.SubAgentFilter,
): Promise<store.SubAgentRecord[]> {
  return store.listSubAgents(db, who, filter);
}

export async function listSubAgentMessages(
  parts: Parts,
  who: store.TaskScope,
  id: string,
  range: { after: number; limit: number },
) {
  const subAgent = await getSubAgent(parts, who, id);
  return { subAgent, messages: await store.listSubAgentMessages(parts.db, subAgent.threadId, range) };
}

export async function listSubAgentCalls(
  parts: Parts,
  who: store.TaskScope,
  id: string,
  range: { after: store.CallPlace | undefined; limit: number },
) {
  const subAgent = await getSubAgent(parts, who, id);
  return { subAgent, calls: await store.listSubAgentCalls(parts.db, subAgent.taskId, range) };
}
