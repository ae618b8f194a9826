import type { ModelCall, ModelMessage } from '../../kernel/index.ts';
import { estimateTokens, saidTokens } from './tokens.ts';

// The turn under way is always shown and may still exceed the context: a tool returns a whole file, a user pastes one. The
// longest messages are then shown in part, with a note. Stored messages stay whole.

/** If tool results would become shorter than this, every message is cut. */
const MIN_RESULT_TOKENS = 500;
const MIN_TOKENS = 80;
/** The note that replaces the middle of a text. */
const NOTE_TOKENS = 40;

export function shortened(messages: ModelMessage[], most: number): ModelMessage[] {
  const total = sum(messages);
  if (total <= most) return messages;
  const results = messages.filter(isResult);
  const cap = fairShare(results.map(saidTokens), most - (total - sum(results)));
  if (cap >= MIN_RESULT_TOKENS) {
    return messages.map((message) => (isResult(message) ? cut(message, cap) : message));
  }
  const share = Math.max(fairShare(messages.map(saidTokens), most), MIN_TOKENS);
  return messages.map((message) => cut(message, share));
}

function isResult({ role }: ModelMessage): boolean {
  return role === 'tool';
}

function sum(messages: readonly ModelMessage[]): number {
  return messages.reduce((size, message) => size + saidTokens(message), 0);
}

/** The size to cut at so that all of them fit: what is shorter stays as it is and leaves its rest to the others. */
export function fairShare(sizes: readonly number[], most: number): number {
  let left = most;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return Math.max(0, Math.floor(share));
    left -= size;
  }
  return left < 0 ? 0 : Number.POSITIVE_INFINITY;
}

function cut(message: ModelMessage, most: number): ModelMessage {
  const size = saidTokens(message);
  if (size <= most) return message;
  switch (message.role) {
    case 'tool': {
      const { output } = message;
      const text = typeof output === 'string' ? output : JSON.stringify(output);
      return {
        ...message,
        output: cutText(text, most, 'of this result are not shown: it is too long to read at once'),
      };
    }
    case 'user': {
      if (!message.parts) return { ...message, text: cutText(message.text, most) };
      const texts = message.parts.filter(({ type }) => type === 'text').length;
      const parts = message.parts.map((part) =>
        part.type === 'text' ? { ...part, text: cutText(part.text, most / texts) } : part,
      );
      return { ...message, text: cutText(message.text, most), parts };
    }
    case 'system':
      return { ...message, text: cutText(message.text, most) };
    case 'assistant': {
      const share = most / (message.calls.length + 1);
      return {
        ...message,
        text: cutText(message.text, share),
        calls: message.calls.map((call) => cutCall(call, share)),
      };
    }
  }
}

function cutCall(call: ModelCall, most: number): ModelCall {
  const text = JSON.stringify(call.arguments);
  return estimateTokens(text) <= most ? call : { ...call, arguments: { shortened: cutText(text, most) } };
}

/** The beginning and the end, with a note between them. */
export function cutText(
  text: string,
  most: number,
  why = 'are not shown: it is too long to read at once',
): string {
  const tokens = estimateTokens(text);
  if (tokens <= most) return text;
  const keep = Math.max(0, Math.floor((text.length * (most - NOTE_TOKENS)) / tokens));
  const head = Math.ceil((keep * 2) / 3);
  const tail = keep - head;
  const end = tail === 0 ? '' : text.slice(-tail);
  return `${text.slice(0, head)}\n[Shortened: ${text.length - keep} of ${text.length} characters ${why}.]\n${end}`.toWellFormed();
}
