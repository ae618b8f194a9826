import { TroupeError } from '../../base/index.ts';
import { MOST_BYTES } from './meter.ts';

/** What becomes of an answer without an end. */
export interface TooMuch {
  /** The request that it answers; null: it was a stream that answers none. */
  id: string | number | null;
  why: TroupeError;
}

/** Every answer has an end, streams too. */
export function countedFetch(
  fetch: typeof globalThis.fetch,
  onTooMuch: (what: TooMuch) => void,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let left = MOST_BYTES;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.byteLength;
        if (left >= 0) return controller.enqueue(chunk);
        const why = new TroupeError(
          'mcp_too_much',
          `The server answered with more than ${MOST_BYTES} bytes.`,
        );
        controller.error(why);
        onTooMuch({ id: idIn(init?.body), why });
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counted), { status, statusText, headers: [...headers] });
  };
}

function idIn(body: unknown): string | number | null {
  if (typeof body !== 'string') return null;
  const { id } = JSON.parse(body) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
