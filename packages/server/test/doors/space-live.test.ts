import type { JsonObject } from '@troupe/protocol';
import { newId } from '@troupe/server';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { messageIdOf } from '../../src/doors/spaces/acts.ts';
import { liveIn } from '../../src/doors/spaces/live.ts';
import { StringField } from '../../src/doors/spaces/string-field.ts';
import type { RunView } from '../../src/kernel/door.ts';
import type { ModelDelta } from '../../src/kernel/ports.ts';

/** Cut at any places, also within escapes and characters. */
function cut(text: string, places: number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  const all = [0, ...ends, text.length];
  return all.slice(1).map((end, index) => text.slice(all[index], end));
}

const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

it('reads a field of an object that is being written, wherever the pieces end', () => {
  const field = fc.record(
    {
      before: fc.jsonValue(),
      text: fc.string({ unit: 'binary' }),
      nested: fc.record({ text: fc.string() }),
      list: fc.array(fc.constantFrom('text', '{"text":"no"}', ':', ',')),
    },
    { requiredKeys: ['text'] },
  );
  fc.assert(
    fc.property(field, fc.array(fc.nat()), fc.boolean(), (object, places, escaped) => {
      const json = JSON.stringify(object, null, escaped ? 2 : 0);
      const sent = escaped
        ? json.replaceAll(
            /[^\x20-\x7e\n]/g,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
          )
        : json;
      const reading = new StringField('text');
      const pieces = cut(sent, places).map((piece) => reading.push(piece));
      expect(pieces.join('')).toBe(object.text);
      for (const piece of pieces) expect(piece).not.toMatch(LONE);
    }),
    { numRuns: 500 },
  );
});

it('gives less for what is no JSON, and never fails', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom(...'{}[]",:\\utexa0d8') })), (pieces) => {
      const reading = new StringField('text');
      for (const piece of pieces) reading.push(piece);
    }),
  );
});

const [home, other, foreign] = [newId(), newId(), newId()];
const run = { id: newId(), entityId: newId(), triggerType: 'space_message', trigger: { spaceId: home } };
const shown = (more: JsonObject) => ({ when: 'always', input: true, output: true, ...more });
const tools = [
  { name: 'search', shown: shown({}) },
  { name: 'quiet', shown: shown({ input: false }) },
  { name: 'late', shown: shown({ when: 'result' }) },
  { name: 'hidden' },
];
const view = (transcript: object[] = []) => ({ run, transcript, snapshot: { tools } }) as unknown as RunView;
const input = (callId: string, name: string, text: string): ModelDelta => ({
  type: 'tool_input',
  callId,
  name,
  text,
});
const members = (space: string) => space === home || space === other;

it('says where the calls of an answer will say it, each in its own place', () => {
  const live = liveIn(view(), members);
  expect(live({ type: 'text', text: 'private' })).toEqual([]);
  expect(live(input('a', 'send_message', '{"text":"He'))).toEqual([
    {
      thread: home,
      type: 'message',
      streamId: messageIdOf(run.id, 'a'),
      callId: 'a',
      name: 'send_message',
      text: 'He',
      entityId: run.entityId,
    },
  ]);
  expect(live(input('e', 'enter_space', `{"spaceId":"${other.toUpperCase()}"}`))).toEqual([]);
  expect(live(input('b', 'send_message', '{"text":"there'))).toMatchObject([
    { thread: other, text: 'there' },
  ]);
  // The first one goes on where it began.
  expect(live(input('a', 'send_message', 'llo"}'))).toMatchObject([{ thread: home, text: 'llo' }]);
  expect(live(input('s', 'search', '{"q":'))).toMatchObject([{ thread: other, type: 'tool', text: '{"q":' }]);
  for (const name of ['quiet', 'late', 'hidden', 'unheard_of'])
    expect(live(input(name, name, '{"q":1}'))).toEqual([]);
});

it('says nothing where its agent is no member, or nobody knows where', () => {
  const abroad = liveIn(view(), members);
  abroad(input('e', 'enter_space', `{"spaceId":"${foreign}"}`));
  expect(abroad(input('a', 'send_message', '{"text":"secret'))).toEqual([]);
  const broken = liveIn(view(), members);
  broken(input('e', 'enter_space', '{"spaceId":'));
  expect(broken(input('a', 'send_message', '{"text":"secret'))).toEqual([]);
});
