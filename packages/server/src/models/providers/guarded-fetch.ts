import { limited, RetryableError } from '../../base/index.ts';

export type GuardedFetch = typeof globalThis.fetch;

/** More than any answer that is worth reading; a stream beyond it is somebody's mistake or malice. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_ERROR_BYTES = 64 * 1024;

/** What a provider sent with status 200 where a stream was asked for. */
export class NoStream extends RetryableError {
  readonly body: string;

  constructor(type: string, body: string) {
    super('model_bad_response', `The answer is ${type || 'of no type'} and not a stream of events.`);
    this.body = body;
  }
}

/**
 * `fetch` for the provider packages. A redirect is not followed, because the key would go along; a page or a document
 * in the place of the stream is told as such; a stream without end cannot fill the memory.
 */
export function guardedFetch(fetch: GuardedFetch = globalThis.fetch): GuardedFetch {
  return async (input, init) => checked(await fetch(input, { ...init, redirect: 'manual' }));
}

async function checked(response: Response): Promise<Response> {
  if (response.body === null) return response;
  // What is told of an error stands at its beginning; the packages read all of it.
  if (!response.ok) return limited(response, { maxBytes: MOST_ERROR_BYTES, overflow: 'cut' });
  const type = (response.headers.get('content-type') ?? '').toLowerCase();
  // Servers that forget the right type for a stream are many: only what is surely none is refused.
  if (/\b(html|json|xml)\b/.test(type)) {
    throw new NoStream(type.split(';')[0]!, await firstOf(response.body));
  }
  return limited(response, { maxBytes: MOST_BYTES, overflow: 'refuse', code: 'answer_too_large' });
}

async function firstOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MOST_ERROR_BYTES) break;
  }
  return text;
}
