import { TroupeError } from '../base/index.ts';

/** The body, as far as it may go. Counted after decompression, so that a small answer cannot become a large one. */
export async function bodyOf(
  stream: AsyncIterable<Uint8Array> | null,
  { maxBytes, overflow }: { maxBytes: number; overflow: 'refuse' | 'cut' },
): Promise<{ body: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream ?? []) {
    const left = maxBytes - bytes;
    if (chunk.byteLength > left) {
      if (overflow === 'refuse') {
        throw new TroupeError('response_too_large', `The answer takes more than ${maxBytes} bytes.`);
      }
      chunks.push(chunk.subarray(0, left));
      return { body: Buffer.concat(chunks), cut: true };
    }
    chunks.push(chunk);
    bytes += chunk.byteLength;
  }
  return { body: Buffer.concat(chunks), cut: false };
}
