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
  | { kind: 'approval' | 'tool' | 'doubt' | 'question'; call: Api.WaitingCall }
  | { kind: 'delivery'; delivery: Api.Delivery }
);

const kinds: Partial<Record<Api.WaitsFor, 'approval' | 'tool' | 'doubt' | 'question'>> = {
  answer: 'question',
  approval: 'approval',
  client: 'tool',
  person: 'doubt',
};

export function itemOfCall(call: Api.WaitingCall): InboxItem {
  const agent = call.agentName ?? call.agentKey;
  return {
    key: `${call.runId}.${call.callId}`,
    kind: kinds[call.waitsFor] ?? 'approval',
    title: call.waitsFor === 'answer' ? questionOf(call) : call.tool,
    who: [call.network?.name, agent].filter(Boolean).join(' · ') || 'An agent',
    at: call.createdAt,
    deadline: call.deadline,
    call,
  };
}

function questionOf({ arguments: args }: Api.WaitingCall): string {
  return String((args as { question?: unknown } | null)?.question ?? 'Question');
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
