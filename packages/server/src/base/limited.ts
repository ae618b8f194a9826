import { TroupeError } from './errors.ts';

type Fetch = typeof globalThis.fetch;

/** What becomes of more bytes than these, as they are after decompression: reading fails, or the rest is left out. */
export interface Limit {
  maxBytes: number;
  overflow: 'refuse' | 'cut';
  code?: string;
}

/** The same answer with an end: whoever reads it whole cannot be made to fill the memory, and the connection is given up there. */
export function limited(
  response: Response,
  { maxBytes, overflow, code = 'response_too_large' }: Limit,
): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const left = maxBytes - bytes;
      bytes += chunk.byteLength;
      if (chunk.byteLength <= left) return controller.enqueue(chunk);
      if (overflow === 'refuse')
        return controller.error(new TroupeError(code, `The answer takes more than ${maxBytes} bytes.`));
      controller.enqueue(chunk.subarray(0, left));
      controller.terminate();
    },
  });
  const { statusText, headers } = response;
  // Servers may send what no `Response` can be made with.
  const status = Math.min(response.status, 599);
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers: [...headers] });
}

/** For libraries that read answers whole. */
export function limitedFetch(fetch: Fetch, limit: Limit): Fetch {
  return async (input, init) => limited(await fetch(input, init), limit);
}
