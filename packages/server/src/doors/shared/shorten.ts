import type { ModelCall, ModelMessage } from '../../kernel/index.ts';
import { saidSize } from './room.ts';

// A turn under way cannot be left out, and may still be more than its model reads at once: a tool that answers with a whole
// file, a user who pastes one. The longest of it is then shown in part, and says so. What is stored stays whole.

/** Where tools' results cannot be cut to fit without becoming shorter than this, everything else is cut as well. */
const LEAST_RESULT = 2_000;
const LEAST = 300;

export function shortened(messages: ModelMessage[], most: number): ModelMessage[] {
  const total = sum(messages);
  if (total <= most) return messages;
  const results = messages.filter(isResult);
  const cap = fairShare(results, most - (total - sum(results)));
  if (cap >= LEAST_RESULT) {
    return messages.map((message) => (isResult(message) ? cut(message, cap) : message));
  }
  const share = Math.max(fairShare(messages, most), LEAST);
  return messages.map((message) => cut(message, share));
}

function isResult({ role }: ModelMessage): boolean {
  return role === 'tool';
}

function sum(messages: readonly ModelMessage[]): number {
  return messages.reduce((size, message) => size + saidSize(message), 0);
}

/** The size to cut at so that all of them fit: what is shorter stays as it is and leaves its rest to the others. */
function fairShare(messages: readonly ModelMessage[], most: number): number {
  const sizes = messages.map(saidSize).toSorted((a, b) => a - b);
  let left = most;
  for (const [index, size] of sizes.entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return Math.max(0, Math.floor(share));
    left -= size;
  }
  return left < 0 ? 0 : Number.POSITIVE_INFINITY;
}

function cut(message: ModelMessage, most: number): ModelMessage {
  const size = saidSize(message);
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
  return Buffer.byteLength(text) <= most ? call : { ...call, arguments: { shortened: cutText(text, most) } };
}

/** The beginning and the end, with a note between them. */
function cutText(text: string, most: number, why = 'are not shown: it is too long to read at once'): string {
  // Escapes count as well: that is how it is sent.
  const bytes = Buffer.byteLength(JSON.stringify(text));
  if (bytes <= most) return text;
  const keep = Math.max(0, Math.floor((text.length * (most - NOTE_BYTES)) / bytes));
  const head = Math.ceil((keep * 2) / 3);
  const tail = keep - head;
  const end = tail === 0 ? '' : text.slice(-tail);
  return `${text.slice(0, head)}\n[Shortened: ${text.length - keep} of ${text.length} characters ${why}.]\n${end}`.toWellFormed();
}

const NOTE_BYTES = 160;
