import type { TriggerAction } from '@troupe/protocol';
import { idFrom, isId } from '../base/index.ts';
import { postMessage } from '../doors/sessions/index.ts';
import { postToSpace, triggerAgent } from '../doors/spaces/index.ts';
import * as store from '../store/index.ts';
import { failed, type Tried, thrown } from './outcome.ts';
import { filledIn, type Told } from './template.ts';

// What a rule does within Troupe. Ids follow from the delivery: a second try finds what the first one made.

/** What actions are done through. */
export type ActParts = Parameters<typeof postMessage>[0];

type Run = Extract<TriggerAction, { type: 'run' }>;
type Message = Extract<TriggerAction, { type: 'message' }>;

const LONGEST_TEXT = 100_000;

export async function act(
  parts: ActParts,
  delivery: store.ClaimedDelivery,
  { action, trigger }: { action: Run | Message; trigger: string },
): Promise<Tried> {
  try {
    return await (action.type === 'run'
      ? startRun(parts, delivery, action, trigger)
      : post(parts, delivery, action, trigger));
  } catch (error) {
    return thrown(error);
  }
}

async function startRun(
  parts: ActParts,
  delivery: store.ClaimedDelivery,
  { agent, instruction }: Run,
  trigger: string,
): Promise<Tried> {
  const { id, project_id: project, depth, changed_at: at } = delivery;
  const agentId = await store.findAgentNamed(parts.db, project, agent);
  if (agentId === null) return failed('agent_not_found', `The project has no agent "${agent}".`, false);
  const payload = filledIn(instruction, toldIn(delivery)).slice(0, LONGEST_TEXT / 2);
  const begun = { run: idFrom(`run:${id}`, at), thread: idFrom(`thread:${id}`, at), depth: depth + 1 };
  const { runId } = await triggerAgent(
    parts,
    project,
    agentId,
    { serviceName: `trigger ${trigger}`, payload },
    begun,
  );
  return { ok: true, result: { runId } };
}

async function post(
  parts: ActParts,
  delivery: store.ClaimedDelivery,
  action: Message,
  trigger: string,
): Promise<Tried> {
  const { project_id: project, depth, changed_at: at } = delivery;
  const told = toldIn(delivery);
  const kind = action.session === undefined ? 'space' : 'session';
  const place = filledIn(action.session ?? action.space!, told).toLowerCase();
  const chat = isId(place) ? await store.findChat(parts.db, project, place) : null;
  if (chat?.kind !== kind)
    return failed('chat_not_found', `There is no ${kind} "${place.slice(0, 100)}".`, false);
  if (!action.crossUser && !isFor(delivery, chat, place)) {
    return failed(
      'other_user',
      `The document is of another user than those who read the ${kind}, and the trigger does not say crossUser.`,
      false,
    );
  }
  const message = {
    id: idFrom(`message:${delivery.id}`, at),
    content: { text: filledIn(action.text, told).slice(0, LONGEST_TEXT) },
    metadata: { trigger },
    depth: depth + 1,
  };
  const who = { project, entityId: null };
  if (chat.kind === 'session') {
    const where = { agentId: chat.agentId!, sessionId: place };
    const { run } = await postMessage(parts, who, where, { ...message, policy: 'queue' });
    return { ok: true, result: { messageId: message.id, runId: run?.id ?? null } };
  }
  const sender = isId(action.as) ? { senderId: action.as } : { user: action.as! };
  const { runs } = await postToSpace(parts, who, place, {
    ...message,
    ...sender,
    mentions: [],
    startsRuns: true,
  });
  return { ok: true, result: { messageId: message.id, runs: runs.map((run) => run.id) } };
}

/** Whether everybody who will read the message may read the document: its user, or the members of the space that it is of. */
function isFor(
  { user_id, path, document_id, after, before }: store.ClaimedDelivery,
  chat: store.Chat,
  place: string,
): boolean {
  if (chat.kind === 'session') return user_id !== null && user_id === chat.entityId;
  const document = after ?? before ?? {};
  const [collection] = path.split('/').slice(-2);
  if (path === `spaces/${place}` || path.startsWith(`spaces/${place}/memberships/`)) return true;
  return (
    collection === 'messages' &&
    !path.includes('/sub-agents/') &&
    document.chatId === place &&
    document.id === document_id
  );
}

function toldIn({ event, path, before, after }: store.ClaimedDelivery): Told {
  return { event: { type: event, path }, document: after ?? before ?? {}, before };
}
