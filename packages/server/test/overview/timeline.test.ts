import { expect, test } from 'vitest';
import { spansOf } from '../../src/overview/timeline.ts';
import type { RunTimes, TimedEvent } from '../../src/store/index.ts';

// What a log can tell that is hard to bring about over HTTP; the rest is in http/console.test.ts.

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second));
const event = (second: number, type: string, more: Partial<TimedEvent> = {}): TimedEvent => ({
  type,
  step: null,
  data: null,
  at: at(second),
  ...more,
});

function shown(run: Partial<RunTimes['run']>, events: TimedEvent[], more: Partial<RunTimes> = {}): string[] {
  const times: RunTimes = {
    run: {
      ...{ status: 'running', step: 0, workerId: 'w', takeovers: 0, error: null, endedAt: null },
      ...{ createdAt: at(0), now: at(60), ...run },
    },
    ...{ steps: [], calls: [], children: [], events, ...more },
  };
  return spansOf(times).map(({ kind, name, startedAt, endedAt, status }) => {
    const second = (time: string | null) => (time === null ? 'now' : new Date(time).getUTCSeconds());
    return `${kind} ${name} ${second(startedAt)}-${second(endedAt)} ${status}`;
  });
}

const begun = [event(0, 'run.queued'), event(2, 'run.started'), event(2, 'step.started', { step: 1 })];

test('a run that another worker took over, and that is at work again', () => {
  const events = [
    ...begun,
    event(9, 'run.resumed', { data: { epoch: 2 } }),
    event(9, 'step.started', { step: 1 }),
  ];
  expect(shown({ takeovers: 1 }, events)).toEqual([
    'queue start 0-2 completed',
    'takeover takeover 2-9 completed',
    'model model 9-now running',
  ]);
  expect(shown({ takeovers: 0 }, events)[1]).toBe('queue handed back 2-9 completed');
});

test('a run that waits for a budget, and one that was canceled while the model was asked', () => {
  const waits = [...begun, event(3, 'run.waiting_tool', { data: { budget: 'b' } })];
  expect(shown({ status: 'waiting_tool' }, waits)).toEqual([
    'queue start 0-2 completed',
    'wait budget 3-now running',
  ]);
  expect(shown({ status: 'canceled', endedAt: at(5) }, [...begun, event(5, 'run.canceled')])).toEqual([
    'queue start 0-2 completed',
    'model model 2-5 canceled',
  ]);
});

test('a model that failed for good, another that is asked in its place, and a run that is taken up again', () => {
  const error = { code: 'c', message: 'm' };
  const events = [
    ...begun,
    event(4, 'step.error', { step: 1, data: { ...error, fallbackTo: 1 } }),
    event(6, 'step.error', { step: 1, data: { ...error, attempt: 1 } }),
    event(6, 'run.failed'),
    event(8, 'run.queued', { data: { retry: true } }),
  ];
  expect(shown({ status: 'queued' }, events)).toEqual([
    'queue start 0-2 completed',
    'attempt model 2-4 failed',
    'attempt model 4-6 failed',
    'queue retry 8-now running',
  ]);
});

test('a call that its run left open when it ended goes on no longer', () => {
  const call = { id: 'c', step: 1, tool: 'dig', status: 'canceled' as const, attempt: 1, error: null };
  const calls = [{ ...call, createdAt: at(3), settledAt: null }];
  expect(
    shown({ status: 'canceled', endedAt: at(5) }, [...begun, event(5, 'run.canceled')], { calls }),
  ).toContain('tool dig 3-5 canceled');
});
