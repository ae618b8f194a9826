import type { Request } from '../clients/history.ts';
import type { CallFact, Evidence, RunFact } from './evidence.ts';

// A made-up history in which every promise is kept; tests break one thing of it each.

export const request = (more: Partial<Request> = {}): Request => ({
  door: 'sessions',
  made: 'message',
  label: 'm1',
  key: 'key-1',
  ids: ['message-1'],
  outcome: 'accepted',
  code: null,
  tries: 1,
  failures: [],
  sentAt: 1_000,
  settledAt: 1_010,
  thread: 'thread-1',
  runs: ['run-1'],
  ...more,
});

export const runFact = (more: Partial<RunFact> = {}): RunFact => ({
  id: 'run-1',
  door: 'session',
  thread: 'thread-1',
  status: 'completed',
  retried: false,
  takeovers: 0,
  error: null,
  outcome: '{"message":"[a:m3]"}',
  cancelReason: null,
  createdAt: 1_000,
  startedAt: 1_005,
  endedAt: 1_100,
  inputTokens: 20,
  outputTokens: 5,
  cost: 30,
  stepInputTokens: 20,
  stepOutputTokens: 5,
  stepCost: 30,
  moments: [1_100],
  ...more,
});

export const callFact = (more: Partial<CallFact> = {}): CallFact => ({
  run: 'run-1',
  call: 'call-1',
  tool: 'once',
  effect: 'once',
  status: 'completed',
  attempt: 1,
  byPerson: false,
  key: 'effect-1',
  ...more,
});

export function keptEvidence(): Evidence {
  const spoken = request({
    door: 'spaces',
    made: 'space_message',
    label: 'm2',
    ids: ['message-2'],
    thread: 'space-1',
    runs: ['run-2'],
  });
  const invoked = request({
    door: 'networks',
    made: 'invocation',
    label: 'm3',
    ids: ['run-3'],
    runs: ['run-3'],
  });
  const planned = request({ door: 'plans', made: 'plan', label: 'm4', ids: ['plan-1'], runs: [] });
  const delivery = (id: string, trigger: string, document: string, change: number, event = 'create') => ({
    id,
    trigger,
    document,
    change,
    event,
    status: 'delivered',
  });
  const deliveries = [
    delivery('delivery-1', 'messages', 'message-1', 1),
    delivery('delivery-2', 'sessions', 'session-1', 2),
    delivery('delivery-3', 'sessions', 'session-1', 3, 'update'),
  ];
  const titleOf: Record<string, string> = { 'delivery-3': 'title 1' };
  return {
    requests: [request(), spoken, invoked, planned],
    readers: [
      {
        thread: 'thread-1',
        connections: 1,
        events: [
          { sequence: 1, type: 'run.queued' },
          { sequence: 2, type: 'run.completed' },
        ],
      },
    ],
    threads: new Map([
      ['thread-1', { id: 'thread-1', lastEvent: 2, types: ['run.queued', 'run.completed'] }],
    ]),
    runs: new Map([
      ['run-1', runFact()],
      ['run-2', runFact({ id: 'run-2', door: 'space' })],
      ['run-3', runFact({ id: 'run-3', door: 'network' })],
      ['run-4', runFact({ id: 'run-4', door: 'space' })],
    ]),
    calls: [
      callFact(),
      callFact({ call: 'call-2', tool: 'idem', effect: 'idempotent', attempt: 2, key: 'effect-2' }),
    ],
    effects: [
      { tool: 'once', key: 'effect-1', body: '{}', at: 1_050 },
      { tool: 'idem', key: 'effect-2', body: '{}', at: 1_060 },
      { tool: 'idem', key: 'effect-2', body: '{}', at: 1_070 },
    ],
    rows: [
      { made: 'message', label: 'm1', id: 'message-1' },
      { made: 'space_message', label: 'm2', id: 'message-2' },
      { made: 'invocation', label: 'm3', id: 'run-3' },
      { made: 'plan', label: 'm4', id: 'plan-1' },
    ],
    answers: [
      { thread: 'thread-1', label: 'm1', run: 'run-1', sequence: 2 },
      { thread: 'space-1', label: 'm2', run: 'run-2', sequence: 2 },
    ],
    makers: [{ kind: 'plan', label: 'm4', runs: ['run-4'] }],
    disturbed: new Set(),
    titles: new Map([['session-1', ['title 1']]]),
    received: deliveries.map(({ id, trigger, document, event }) => ({
      deliveryId: id,
      trigger,
      event,
      documentId: document,
      before: null,
      after: titleOf[id] ? { title: titleOf[id] } : {},
    })),
    forged: [],
    deliveries,
    copies: [
      {
        user: 'user-1',
        collection: 'messages',
        client: new Map([['message-1', '{"a":1}']]),
        server: new Map([['message-1', '{"a":1}']]),
      },
    ],
    restless: [],
    usage: { reported: { inputTokens: 60, outputTokens: 15 }, runs: { inputTokens: 60, outputTokens: 15 } },
    invariants: [],
  };
}
