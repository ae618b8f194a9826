/** One frame of an event stream. */
export interface Frame {
  id: string | null;
  event: string;
  data: string;
  retryMs: number | null;
}

const LONGEST_FRAME = 16_777_216;

/** Frames as they arrive, whatever the pieces they arrive in. Comments are passed over; `onBytes` hears of everything. */
export async function* framesOf(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<Frame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let endedByReturn = false;
  let frame: Frame | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // A frame that was not finished was never sent.
      onBytes();
      let text = decoder.decode(value, { stream: true });
      if (text === '') continue;
      // A carriage return ends a line at once; a line feed that comes in the next piece belongs to it.
      if (endedByReturn && text.startsWith('\n')) text = text.slice(1);
      endedByReturn = text.endsWith('\r');
      const lines = (rest + text).split(/\r\n|\n|\r/);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (frame && (frame.data !== '' || frame.retryMs !== null)) yield finished(frame);
          frame = null;
        } else if (!line.startsWith(':')) {
          frame = withField(frame ?? { id: null, event: 'message', data: '', retryMs: null }, line);
        }
      }
      if (rest.length + (frame?.data.length ?? 0) > LONGEST_FRAME)
        throw new Error('a frame of the stream is too long');
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function withField(frame: Frame, line: string): Frame {
  const colon = line.indexOf(':');
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
  switch (name) {
    case 'data':
      return { ...frame, data: `${frame.data}${value}\n` };
    case 'event':
      return { ...frame, event: value };
    case 'id':
      return { ...frame, id: value };
    case 'retry':
      return /^\d+$/.test(value) ? { ...frame, retryMs: Number(value) } : frame;
    default:
      return frame;
  }
}

function finished(frame: Frame): Frame {
  return { ...frame, data: frame.data.replace(/\n$/, '') };
}
