import type { ModelMessage, ModelRequest } from '../../kernel/ports.ts';

/** The dearest picture known: eight tiles at 5,667 tokens and 2,833 for itself. */
const IMAGE_TOKENS = 50_000;
/** What providers write around the messages, and the prompt that Anthropic adds for tools. */
const FRAME_TOKENS = 1_000;

/** No tokenizer makes more tokens than there are bytes; a picture counts by its size, which is not known here. */
export function maxInputTokens(request: ModelRequest): number {
  let images = 0;
  const messages = request.messages.map((message): ModelMessage => {
    if ((message.role !== 'user' && message.role !== 'tool') || !message.parts) return message;
    const parts = message.parts.filter((part) => part.type !== 'image');
    images += message.parts.length - parts.length;
    return { ...message, parts };
  });
  const text = JSON.stringify([request.system, messages, request.tools]);
  return Buffer.byteLength(text) + images * IMAGE_TOKENS + FRAME_TOKENS;
}
