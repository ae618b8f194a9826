import { expect, test } from 'vitest';
import { Live } from '../../src/stream/live.ts';

const run = { id: 'run', threadId: 'own', epoch: 1 };
const piece = (callId: string, text: string) => ({
  ...{ thread: 'space', type: 'message' as const, streamId: `stream ${callId}`, callId },
  ...{ name: 'send_message', text, entityId: 'ada' },
});
const texts = (live: Live, thread = 'space') => [...live.of(thread)].map(({ text }) => text);

test('what is said elsewhere stays when the answer is stored, until the log of that thread has it', () => {
  const live = new Live();
  live.writeElsewhere(run, 1, 1, piece('a', 'He'));
  live.writeElsewhere(run, 1, 1, piece('a', 'llo'));
  live.writeElsewhere(run, 1, 1, piece('b', 'There'));
  live.write(run, 1, { type: 'text', text: 'private' });
  live.end('own', 'run');
  expect([texts(live, 'own'), texts(live)]).toEqual([[], ['Hello', 'There']]);
  live.stored('space', ({ stream }) => stream === 'stream a');
  expect(texts(live)).toEqual(['There']);
  live.said('run', ['b']);
  expect(texts(live)).toEqual([]);
});

test('a model that is asked again begins again, for other processes too', () => {
  const [live, far] = [new Live(), new Live()];
  const tell = (text: ReturnType<Live['writeElsewhere']>) => {
    for (const one of text.pieces(0)) far.hear(one);
  };
  tell(live.writeElsewhere(run, 1, 1, piece('a', 'first try')));
  tell(live.writeElsewhere(run, 1, 2, piece('a', 'second')));
  expect([texts(live), texts(far)]).toEqual([['second'], ['second']]);
  const [heard] = far.of('space');
  expect(heard!.frameFrom(0).toString()).toContain('"streamId":"stream a","entityId":"ada"');
  // What was heard of elsewhere is not this process's to end.
  far.said('run', null);
  expect(texts(far)).toEqual(['second']);
});
