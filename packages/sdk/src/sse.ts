import { createParser } from 'eventsource-parser';

/** One frame of an event stream. */
export interface Frame {
  id: string | null;
  event: string;
  data: string;
  /** From the `retry` line before or in this frame. */
  retryMs: number | null;
}

const MAX_FRAME_LENGTH = 16_777_216;

/** Yields frames as they arrive. `onBytes` is called for every chunk, including chunks that only hold comments. */
export async function* framesOf(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<Frame> {
  let frames: Frame[] = [];
  let retryMs: number | null = null;
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MAX_FRAME_LENGTH,
    onEvent({ id = null, event = 'message', data }) {
      frames.push({ id, event, data, retryMs });
      retryMs = null;
    },
    onRetry(value) {
      retryMs = value;
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') tooLong = true;
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // The server did not finish the last frame, so it is not delivered.
      onBytes();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* frames;
      frames = [];
      if (tooLong) throw new Error(`Event stream frame too long: more than ${MAX_FRAME_LENGTH} characters`);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
