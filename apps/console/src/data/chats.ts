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

async function find(task: Given): Promise<ChatOfTask> {
  let given = task;
  // Within tasks of tasks, only the first was given in the conversation itself.
  for (let depth = 0; given.parentTaskId !== null && depth < DEEPEST; depth++)
    given = await troupe.tasks.get({ params: { taskId: given.parentTaskId } });
  const run = await troupe.runs.get({ params: { runId: given.parentRunId } });
  const id = task.chatId;
  if (run.sessionId === id && run.agentId) {
    const { agentId } = run;
    const { title } = await troupe.sessions.get({ params: { agentId, sessionId: id } });
    const address = sessionAddress(agentId, id);
    return { kind: 'session', id, agentId, title: title ?? `Session ${shortId(id)}`, address };
  }
  if (run.spaceId === id || run.activeSpaceId === id) {
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
