import type { AgentSnapshot, SnapshotTool } from '@troupe/protocol';
import type { ModelCall } from '../../src/kernel/ports.ts';
import type { Random } from './random.ts';

// An agent with tools of every effect, and a model with random answers.

const tool = (name: string, rest: Partial<SnapshotTool>): SnapshotTool => ({
  name,
  description: '',
  provider: 'code',
  inputSchema: { type: 'object' },
  effect: 'once',
  timeoutMs: 60_000,
  deadlineMs: 6_000,
  config: {},
  ...rest,
});

export function buildSnapshot(random: Random): AgentSnapshot {
  const deadlineMs = random.int(500, 8_000);
  return {
    kind: 'agent',
    name: 'player',
    prompt: '',
    models: Array.from({ length: random.int(1, 3) }, (_, index) => ({
      provider: 'sim',
      model: `model-${index}`,
      maxOutputTokens: 100,
      inputPrice: 0,
      outputPrice: 0,
    })),
    tools: [
      tool('read', { effect: 'pure' }),
      tool('put', { effect: 'idempotent' }),
      tool('pay', { effect: 'once' }),
      tool('absorb', { effect: 'idempotent' }),
      tool('pass', { effect: 'idempotent', deadlineMs }),
      tool('ask', { waitsFor: 'client', deadlineMs }),
      tool('sign', { waitsFor: 'approval', deadlineMs }),
      tool('delegate', { waitsFor: 'task', deadlineMs }),
    ],
    limits: {
      steps: random.int(2, 12),
      toolCalls: random.int(3, 40),
      fanOut: random.int(1, 5),
      wallMs: 60_000,
      ...(random.chance(0.2) ? { tokens: random.int(50, 400) } : {}),
      chainDepth: 8,
      messageBytes: 10_000,
      toolOutputBytes: 10_000,
      modelTimeoutMs: 60_000,
      modelStallMs: 60_000,
      modelTries: random.int(1, 3),
      retryBackoffMs: random.int(20, 400),
      historyMessages: 100,
    },
    inDoubt: random.pick(['tell', 'wait']),
    config: {},
  };
}

/** What the door hands over for runs that are canceled from outside. */
export const CANCEL_EVENTS = ['session.canceled'];

/** The one budget. */
export const PURSE = '00000000-0000-7000-8000-200000000000';

export type Answer =
  | {
      type: 'answer';
      text: string;
      calls: ModelCall[];
      end: boolean;
      tokens: number;
    }
  | { type: 'failed'; code: string; retryable: boolean; retryAfterMs: number }
  | { type: 'denied'; budget: string; policy: 'stop' | 'fallback' | 'wait' };

/** How an agent behaves in one seed: some talk, some call tools all the time, some have bad luck with their model. */
export interface Manner {
  failing: number;
  denied: number;
  calling: number;
  tools: Record<string, number>;
}

export function buildManner(random: Random): Manner {
  return {
    failing: random.pick([0, 0.05, 0.25]),
    denied: random.pick([0, 0, 0.1]),
    calling: random.between(0.4, 0.95),
    tools: {
      read: 2 * random.next(),
      put: 2 * random.next(),
      pay: 2 * random.next() + 0.2,
      absorb: random.chance(0.5) ? 1 : 0,
      pass: random.next(),
      ask: random.next(),
      sign: random.next(),
      delegate: random.next() / 2,
      unheard_of: random.chance(0.3) ? 0.5 : 0,
    },
  };
}

export function answer(random: Random, manner: Manner): Answer {
  if (random.chance(manner.denied))
    return { type: 'denied', budget: PURSE, policy: random.pick(['stop', 'fallback', 'wait']) };
  if (random.chance(manner.failing)) {
    const retryAfterMs = random.pick([0, 0, 300, 70_000]);
    return { type: 'failed', code: 'model_error', retryable: random.chance(0.8), retryAfterMs };
  }
  const tokens = random.int(1, 60);
  if (!random.chance(manner.calling))
    return {
      type: 'answer',
      text: random.chance(0.1) ? '' : 'Done.',
      calls: [],
      end: random.chance(0.85),
      tokens,
    };
  const calls = Array.from({ length: random.pick([1, 2, 2, 3, 5]) }, (_, index): ModelCall => {
    const name = random.weighted(manner.tools);
    // Providers that number their calls anew in every answer are the common case.
    const call = { id: `call_${index}`, name, arguments: {} };
    return random.chance(0.03) ? { ...call, arguments: null, invalid: '{' } : call;
  });
  return { type: 'answer', text: random.chance(0.3) ? 'Wait.' : '', calls, end: true, tokens };
}
