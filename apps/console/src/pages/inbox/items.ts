import type { Api } from '@troupe/sdk';
import type { InboxKind } from './words.ts';

/** What waits, of whatever kind. */
export type InboxItem = {
  /** Also its name in the address. */
  key: string;
  title: string;
  who: string;
  at: string;
  deadline: string | null;
} & (
  | { kind: 'approval' | 'tool' | 'doubt'; call: Api.WaitingCall }
  | { kind: 'question'; task: Api.Task }
  | { kind: 'delivery'; delivery: Api.Delivery }
);

const kinds: Partial<Record<Api.WaitsFor, 'approval' | 'tool' | 'doubt'>> = {
  approval: 'approval',
  client: 'tool',
  person: 'doubt',
};

export function itemOfCall(call: Api.WaitingCall): InboxItem {
  const agent = call.agentName ?? call.agentKey;
  return {
    key: `${call.runId}.${call.callId}`,
    kind: kinds[call.waitsFor] ?? 'approval',
    title: call.tool,
    who: [call.network?.name, agent].filter(Boolean).join(' · ') || 'An agent',
    at: call.createdAt,
    deadline: call.deadline,
    call,
  };
}

export function itemOfTask(task: Api.Task): InboxItem {
  return {
    key: task.id,
    kind: 'question',
    title: task.question ?? 'It asks something.',
    who: task.name.replace(/^agent:/, ''),
    at: task.updatedAt,
    deadline: null,
    task,
  };
}

export function itemOfDelivery(delivery: Api.Delivery): InboxItem {
  return {
    key: delivery.id,
    kind: 'delivery',
    title: delivery.trigger,
    who: delivery.error?.message ?? 'It was given up.',
    at: delivery.endedAt ?? delivery.createdAt,
    deadline: null,
    delivery,
  };
}

/** How many there are of each kind. */
export function countsOf(items: readonly InboxItem[]): Record<InboxKind, number> {
  const counts = { approval: 0, tool: 0, question: 0, doubt: 0, delivery: 0 };
  for (const { kind } of items) counts[kind]++;
  return counts;
}
