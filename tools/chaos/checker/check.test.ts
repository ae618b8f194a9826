import { describe, expect, it } from 'vitest';
import { check, RULES } from './check.ts';
import type { Evidence } from './evidence.ts';
import { callFact, keptEvidence, request, runFact } from './evidence-for-tests.ts';

type Break = (evidence: Evidence) => void;

/** For every promise, histories that break it and no other promise, with a part of what the checker says. */
const BROKEN: Record<string, [string, Break, string][]> = {
  'each accepted message is answered exactly once or failed visibly': [
    ['lost', (evidence) => evidence.answers.splice(0, 1), 'completed and does not answer it'],
    [
      'answered twice',
      (evidence) => evidence.answers.push({ thread: 'thread-1', label: 'm1', run: 'run-9', sequence: 4 }),
      'answered 2 times: run run-1 at 2, run run-9 at 4',
    ],
    ['accepted without a run', (evidence) => (evidence.requests[0] = request({ runs: [] })), 'no run'],
    ['its run is gone', (evidence) => evidence.runs.delete('run-1'), 'no run that answers it'],
    [
      'failed without a reason',
      (evidence) => {
        evidence.runs.set('run-1', runFact({ status: 'failed' }));
        evidence.answers.splice(0, 1);
      },
      'failed without an error',
    ],
  ],
  'each run of a space answers once': [
    ['said nothing', (evidence) => evidence.answers.splice(1, 1), 'completed and said nothing'],
    [
      'said it twice',
      (evidence) => evidence.answers.push({ ...evidence.answers[1]!, sequence: 3 }),
      'answered 2 times',
    ],
    ['its run is gone', (evidence) => evidence.runs.delete('run-2'), 'does not exist'],
  ],
  'each run that was started ends': [
    [
      'never ended',
      (evidence) => evidence.runs.set('run-3', runFact({ id: 'run-3', status: 'queued' })),
      'is queued',
    ],
    [
      'failed without a reason',
      (evidence) => evidence.runs.set('run-3', runFact({ id: 'run-3', status: 'failed' })),
      'is failed',
    ],
    ['is gone', (evidence) => evidence.runs.delete('run-3'), 'does not exist'],
    [
      'responded to something else',
      (evidence) => (evidence.runs.get('run-3')!.outcome = '{}'),
      'responded with {}',
    ],
  ],
  'each plan and each row of a batch makes one run': [
    ['no run', (evidence) => (evidence.makers[0]!.runs = []), 'plan: 0 runs of 1'],
    ['two runs', (evidence) => (evidence.makers[0]!.runs = ['run-4', 'run-1']), 'plan: 2 runs of 1'],
    ['a run that does not end', (evidence) => (evidence.runs.get('run-4')!.status = 'running'), 'is running'],
    [
      'a row too few',
      (evidence) => {
        Object.assign(evidence.requests[3]!, { made: 'batch', size: 2 });
        evidence.rows[3]!.made = 'batch';
        evidence.makers[0]!.kind = 'batch';
      },
      'batch: 1 runs of 2',
    ],
  ],
  'an idempotency key stands for one id and one row': [
    [
      'two ids',
      (evidence) => evidence.requests[0]!.ids.push('message-9'),
      'answered with message-1, message-9',
    ],
    [
      'two rows',
      (evidence) => evidence.rows.push({ made: 'message', label: 'm1', id: 'message-9' }),
      'made 2',
    ],
    ['no row', (evidence) => evidence.rows.splice(0, 1), 'does not exist'],
    ['another row', (evidence) => (evidence.rows[0]!.id = 'message-9'), 'stored as message-9'],
    [
      'accepted, then refused',
      (evidence) => (evidence.requests[0]!.code = 'session_busy'),
      'then refused with session_busy',
    ],
    [
      'refused and stored',
      (evidence) => {
        evidence.requests.push(request({ label: 'm9', ids: [], outcome: 'refused', code: 'session_busy' }));
        evidence.rows.push({ made: 'message', label: 'm9', id: 'message-9' });
      },
      'refused with session_busy, and stored',
    ],
  ],
  'each request is answered': [
    [
      'no answer',
      (evidence) => evidence.requests.push(request({ label: 'm9', ids: [], outcome: null })),
      'no answer',
    ],
  ],
  'a once effect happens at most once': [
    ['twice', (evidence) => evidence.effects.push({ ...evidence.effects[0]! }), 'ran 2 times'],
    ['completed without it', (evidence) => evidence.effects.splice(0, 1), 'never ran'],
  ],
  'an idempotent effect repeats with the same key and arguments': [
    ['other arguments', (evidence) => (evidence.effects[2]!.body = '{"n":2}'), 'different arguments'],
    ['more often than tried', (evidence) => (evidence.calls[1]!.attempt = 1), 'ran 2 times in 1 attempts'],
    ['completed without it', (evidence) => evidence.effects.splice(1, 2), 'never ran'],
  ],
  'no effect without a call in the ledger': [
    [
      'an unknown key',
      (evidence) => evidence.effects.push({ ...evidence.effects[0]!, key: 'effect-9' }),
      'not in the ledger',
    ],
  ],
  'each reader gets every event once and in order': [
    ['a gap', (evidence) => evidence.readers[0]!.events.splice(0, 1), 'sequence 2 at 1'],
    [
      'a repeat',
      (evidence) => evidence.readers[0]!.events.splice(1, 0, { sequence: 1, type: 'run.queued' }),
      'sequence 1, 1, 2',
    ],
    ['an end too early', (evidence) => evidence.readers[0]!.events.pop(), 'ends at 1 of 2'],
    [
      'another event',
      (evidence) => (evidence.readers[0]!.events[1]!.type = 'run.failed'),
      'the log has run.completed',
    ],
    ['no thread', (evidence) => evidence.threads.clear(), 'does not exist'],
  ],
  'webhooks arrive at least once': [
    [
      'never received',
      (evidence) => evidence.deliveries.push({ ...evidence.deliveries[0]!, id: 'delivery-9' }),
      'never received',
    ],
    ['given up', (evidence) => (evidence.deliveries[0]!.status = 'dead'), 'is dead'],
    ['forged', (evidence) => evidence.forged.push('No matching signature'), 'No matching signature'],
  ],
  'webhooks arrive in order per document': [
    [
      'out of order',
      (evidence) => {
        evidence.received.splice(1, 2, evidence.received[2]!, evidence.received[1]!);
      },
      'changes came as 3, 2',
    ],
    [
      'of an unknown delivery',
      (evidence) => evidence.received.push({ ...evidence.received[0]!, deliveryId: 'delivery-9' }),
      'not in the database',
    ],
  ],
  'accepted changes are told by webhooks': [
    [
      'a message without a change',
      (evidence) => {
        evidence.received.splice(0, 1);
        evidence.deliveries.splice(0, 1);
      },
      'no webhook told of it',
    ],
    [
      'a title without a change',
      (evidence) => evidence.titles.set('session-1', ['title 1', 'title 2']),
      'were told as',
    ],
  ],
  'nothing is in a state that nobody waits for': [
    [
      'a stuck run',
      (evidence) => evidence.restless.push({ table: 'run', id: 'run-9', state: 'queued' }),
      'run is queued',
    ],
  ],
  'the rows are consistent': [
    [
      'a gap in messages',
      (evidence) => evidence.invariants.push('messages have a gap: {}'),
      'messages have a gap',
    ],
  ],
  'usage is the sum of the steps': [
    [
      'a run with too much',
      (evidence) => (evidence.runs.get('run-1')!.stepInputTokens = 40),
      'its steps 40/5/30',
    ],
    ['a cost too low', (evidence) => (evidence.runs.get('run-1')!.stepCost = 60), 'its steps 20/5/60'],
    ['a wrong report', (evidence) => (evidence.usage.reported.inputTokens = 80), 'reported 80/15 tokens'],
  ],
  'copies are equal to the server': [
    ['lacks a document', (evidence) => evidence.copies[0]!.client.clear(), 'lacks 1'],
    [
      'was not told of a row',
      (evidence) => (evidence.copies[0]!.rows = ['message-9']),
      'the tables have 1 more',
    ],
    ['has one too many', (evidence) => evidence.copies[0]!.server.clear(), '1 too many'],
    ['has another', (evidence) => evidence.copies[0]!.client.set('message-1', '{"a":2}'), '1 differ'],
  ],
};

describe('the checker of chaos', () => {
  it('finds nothing in a history in which every promise is kept', () => {
    expect(check(keptEvidence())).toEqual([]);
  });

  it('has a history for every promise that breaks it', () => {
    expect(Object.keys(BROKEN).toSorted()).toEqual(Object.keys(RULES).toSorted());
  });

  for (const [rule, cases] of Object.entries(BROKEN))
    it.each(cases)(`finds that ${rule} is broken: %s`, (_, breakIt, message) => {
      const evidence = keptEvidence();
      breakIt(evidence);
      const found = check(evidence);
      expect(new Set(found.map((violation) => violation.rule))).toEqual(new Set([rule]));
      expect(found[0]!.message).toContain(message);
    });

  it('accepts a message that a later run answers after its own was canceled', () => {
    const evidence = keptEvidence();
    evidence.runs.set('run-1', runFact({ status: 'canceled', cancelReason: 'user' }));
    evidence.answers[0]!.run = 'run-9';
    expect(check(evidence)).toEqual([]);
  });

  it('accepts a once call in doubt whose effect happened, and one whose effect did not', () => {
    const evidence = keptEvidence();
    evidence.calls.push(callFact({ call: 'call-3', key: 'effect-3', status: 'in_doubt' }));
    expect(check(evidence)).toEqual([]);
    evidence.effects.push({ tool: 'once', key: 'effect-3', body: '{}', at: 1 });
    expect(check(evidence)).toEqual([]);
  });

  it('accepts a once call that a person completed although it never ran', () => {
    const evidence = keptEvidence();
    evidence.calls.push(callFact({ call: 'call-3', key: 'effect-3', byPerson: true }));
    expect(check(evidence)).toEqual([]);
  });

  it('accepts a webhook that comes again late', () => {
    const evidence = keptEvidence();
    evidence.received.push(evidence.received[1]!);
    expect(check(evidence)).toEqual([]);
  });
});
