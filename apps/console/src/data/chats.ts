import { queryOptions } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { networkAddress, runAddress, sessionAddress, spaceAddress } from './addresses.ts';
import { troupe } from './client.ts';
import { shortId } from './format.ts';

/** The conversation in which a task was given, however deep. */
interface ChatOfTask {
  kind: 'session' | 'space' | 'network';
  id: string;
  /** Of a session. */
  agentId: string | null;
  title: string;
  address: string;
}

type Given = Pick<Api.Task, 'chatId' | 'parentRunId' | 'parentTaskId'>;

const DEEPEST = 20;

/** The agent of a session; null if the id is that of a space. */
async function agentOfSession(id: string): Promise<string | null> {
  const isSpace = await troupe
    .space(id)
    .get()
    .then(
      () => true,
      () => false,
    );
  if (isSpace) return null;
  const list = troupe.all<Api.Session>(({ query }) =>
    troupe.sessions.listAll({ query: { ...query, search: id } }),
  );
  for await (const session of list) if (session.id === id) return session.agentId;
  return null;
}

async function find(task: Given): Promise<ChatOfTask> {
  let given = task;
  // Within tasks of tasks, only the first was given in the conversation itself.
  for (let depth = 0; given.parentTaskId !== null && depth < DEEPEST; depth++)
    given = await troupe.tasks.get({ params: { taskId: given.parentTaskId } });
  const id = task.chatId;
  const { parentRunId: runId } = given;
  const run = runId === null ? null : await troupe.runs.get({ params: { runId } });
  // A task from outside has no parent run to derive the chat from.
  const agentId = run ? run.sessionId === id && run.agentId : await agentOfSession(id);
  if (agentId) {
    const { title } = await troupe.sessions.get({ params: { agentId, sessionId: id } });
    const address = sessionAddress(agentId, id);
    return { kind: 'session', id, agentId, title: title ?? `Session ${shortId(id)}`, address };
  }
  if (!run || run.spaceId === id || run.activeSpaceId === id) {
    const { name } = await troupe.space(id).get();
    return {
      kind: 'space',
      id,
      agentId: null,
      title: name ?? `Space ${shortId(id)}`,
      address: spaceAddress(id),
    };
  }
  const address = run.networkId ? networkAddress(run.networkId) : runAddress(run.id);
  return { kind: 'network', id, agentId: null, title: `Run ${shortId(run.id)}`, address };
}

export const chatQuery = (task: Given) =>
  queryOptions({
    queryKey: ['chats', task.chatId],
    queryFn: () => find(task),
    staleTime: 300_000,
  });
