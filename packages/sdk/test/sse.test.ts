import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Frame, framesOf } from '../src/sse.ts';

function bodyOf(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function read(chunks: Uint8Array[]): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(bodyOf(chunks))) frames.push(frame);
  return frames;
}

const bytes = (text: string) => new TextEncoder().encode(text);

function cutAt(whole: Uint8Array, places: number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, at) => whole.subarray(from, sorted[at] ?? whole.length));
}

const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ''));
const sent = fc.record({
  id: fc.option(fc.nat().map(String)),
  event: fc.constantFrom('message.created', 'run.completed', 'connected'),
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
  retryMs: fc.option(fc.nat(10_000)),
  comment: fc.option(line),
  ending: fc.constantFrom('\n', '\r\n', '\r'),
});

it('gives the frames that were sent, whatever the pieces: line ends, letters of several bytes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sent, { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 40 }),
      async (all, cuts) => {
        const text = all
          .map(({ id, event, data, retryMs, comment, ending }) =>
            [
              ...(comment === null ? [] : [`:${comment}`]),
              ...(retryMs === null ? [] : [`retry: ${retryMs}`]),
              ...(id === null ? [] : [`id: ${id}`]),
              `event: ${event}`,
              ...data.map((one) => `data: ${one}`),
              '',
              '',
            ].join(ending),
          )
          .join('');
        const expected = all.map(({ id, event, data, retryMs }) => ({
          id,
          event,
          data: data.join('\n'),
          retryMs,
        }));
        expect(await read(cutAt(bytes(text), cuts))).toEqual(expected);
      },
    ),
    { numRuns: 500 },
  );
});

it('gives the same for every cut of any text, also one that is no stream of events', async () => {
  const noise = fc.array(
    fc.constantFrom('\r', '\n', '\r\n', ':', 'data', 'id: 1', 'data: ü', 'retry: 5', '🎭', ' '),
  );
  await fc.assert(
    fc.asyncProperty(noise, fc.array(fc.nat(), { maxLength: 40 }), async (parts, cuts) => {
      const whole = bytes(parts.join(''));
      expect(await read(cutAt(whole, cuts))).toEqual(await read([whole]));
    }),
    { numRuns: 500 },
  );
});

it('passes over a frame that was cut off', async () => {
  expect(await read([bytes('id: 1\ndata: a\n\nid: 2\ndata: b\n')])).toEqual([
    { id: '1', event: 'message', data: 'a', retryMs: null },
  ]);
});

it('gives up a frame without end', async () => {
  const piece = bytes(`data: ${'x'.repeat(1_000_000)}\n`);
  await expect(read(Array.from({ length: 20 }, () => piece))).rejects.toThrow('too long');
});

it('rejects a line without end', async () => {
  const piece = bytes('x'.repeat(1_000_000));
  const chunks = [bytes('data: '), ...Array.from({ length: 20 }, () => piece)];
  await expect(read(chunks)).rejects.toThrow('too long');
});

it('delivers the frames before one that is too long', async () => {
  const seen: Frame[] = [];
  const chunks = [bytes(`data: a\n\ndata: ${'x'.repeat(17_000_000)}\n`)];
  const reading = (async () => {
    for await (const frame of framesOf(bodyOf(chunks))) seen.push(frame);
  })();
  await expect(reading).rejects.toThrow('too long');
  expect(seen.map(({ data }) => data)).toEqual(['a']);
});
