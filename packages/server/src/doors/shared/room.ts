import type { ContentPart, Json } from '@troupe/protocol';
import { splitMedia } from '../../base/index.ts';
import { type ModelMessage, mostOutput, type RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';

/** For a model of which nobody said what it reads at once. */
const USUAL_CONTEXT_TOKENS = 128_000;
/** English has four to five, Chinese three, code and numbers two or three: rather a little room left than a refusal. */
const BYTES_PER_TOKEN = 2.5;
/** A picture by its usual price and not by its bytes. */
const IMAGE_BYTES = 5_000;

/** What the conversation may take of the model's context, in bytes: all of it but the answer, the prompt and the tools. */
export function roomFor({ model, snapshot }: Pick<RunView, 'model' | 'snapshot'>): number {
  const tokens = (model.contextTokens ?? USUAL_CONTEXT_TOKENS) - mostOutput(model);
  const tools = snapshot.tools.map(({ name, description, inputSchema }) => [name, description, inputSchema]);
  const taken = bytesOf([snapshot.prompt, tools]);
  // A prompt that leaves no room is the operator's to shorten; the provider says so.
  return Math.floor(Math.max(tokens * BYTES_PER_TOKEN - taken, (tokens * BYTES_PER_TOKEN) / 4));
}

export function sizeOf(turn: readonly StoredMessage[]): number {
  return turn.reduce(
    (size, { role, content }) =>
      size + (role === 'tool_result' ? resultSize(content) : sizeWithImages(content)),
    0,
  );
}

function resultSize(content: StoredMessage['content']): number {
  const { output, images } = splitMedia((content as { result: Json }).result);
  return sizeWithImages({ ...(content as object), result: output, parts: images });
}

export function saidSize(message: ModelMessage): number {
  // Where there are parts, the text is one of them.
  return sizeWithImages(message.role === 'user' && message.parts ? { ...message, text: '' } : message);
}

function sizeWithImages(value: unknown): number {
  const { parts } = (value ?? {}) as { parts?: ContentPart[] };
  if (!Array.isArray(parts)) return bytesOf(value);
  const texts = parts.filter(({ type }) => type !== 'image');
  return bytesOf({ ...(value as object), parts: texts }) + (parts.length - texts.length) * IMAGE_BYTES;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
