import type { AgentSnapshotInput } from '@troupe/protocol';
import type { Turn } from '../../src/models/scripted/turn.ts';

// The agent of all crash tests: a tool of every effect, and one that somebody outside settles.

type Agent = Partial<AgentSnapshotInput>;

export const agent: Agent = {
  tools: [
    { name: 'write', provider: 'code', effect: 'once' },
    { name: 'fetch', provider: 'code', effect: 'idempotent' },
    { name: 'add', provider: 'code', effect: 'pure' },
    { name: 'ask', provider: 'client', effect: 'once', waitsFor: 'client' },
  ],
};

/** Beside them one that a person must approve. */
export const careful: Agent = {
  tools: [...agent.tools!, { name: 'send', provider: 'code', effect: 'once', waitsFor: 'approval' }],
};

export const call = (name: string, ms = 0) => ({ name, arguments: { ms } });

/** A user's message that carries what the model is to answer. */
export const script = (turns: Turn[]): string => `script:${JSON.stringify(turns)}`;

/** A conversation that is summarised at the third step, because the first two wrote more than four messages. */
export const compacting = (summary: Turn) => ({
  door: 'session' as const,
  text: 'go',
  agent: {
    ...agent,
    models: [
      {
        provider: 'scripted',
        model: script([{ calls: [call('fetch')] }, { calls: [call('fetch')] }, summary, { text: 'Done.' }]),
      },
    ],
    limits: { historyMessages: 4, retryBackoffMs: 50 },
  } satisfies Agent,
});

/** Every kind of call. `add` ends well after `fetch`, so that the results are always committed in this order. */
export const everyKind = script([
  { calls: [call('write')] },
  { calls: [call('fetch'), call('add', 60)] },
  { calls: [call('write'), call('ask')] },
  { text: 'Done.' },
]);
