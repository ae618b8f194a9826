import { TroupeError } from '../../base/index.ts';
import { MOST_BYTES } from './meter.ts';

/** Every answer has an end, streams too: whoever sends more loses the connection, not only the answer. */
export function countedFetch(
  fetch: typeof globalThis.fetch,
  onTooMuch: (why: TroupeError) => void,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let left = MOST_BYTES;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.byteLength;
        if (left >= 0) return controller.enqueue(chunk);
        const why = new TroupeError('mcp_too_much', `The server sent more than ${MOST_BYTES} bytes at once.`);
        controller.error(why);
        onTooMuch(why);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counted), { status, statusText, headers: [...headers] });
  };
}
