import type { ContentPart, Json } from '@troupe/protocol';
import { splitMedia } from '../../base/index.ts';
import { type ModelMessage, mostOutput, type RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { DEFAULT_RATIO } from './calibration.ts';

// Estimates tokens without a tokenizer: providers have different ones, and loading one costs more memory than a worker uses.
// Reported usage corrects the estimate (see calibration.ts), so it only has to be proportional across kinds of text.

/** Context size of models that do not declare one. */
const DEFAULT_CONTEXT_TOKENS = 128_000;
const IMAGE_TOKENS = 1_500;
/** For prompts that are measured in bytes. English has four to five, code two or three. */
export const BYTES_PER_TOKEN = 2.5;
/** Role, separators and ids that providers add around a message. */
const MESSAGE_TOKENS = 4;

/** Prose has about 1.3 tokens per word; long runs of letters and digits are hashes or base64 and have more. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  // Of the run of letters and digits: its length, its tokens so far, and the letters since the last digit.
  let run = 0;
  let ofRun = 0;
  let word = 0;
  let spaces = 0;
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : SPACE;
    if (isLetter(code) || isDigit(code)) {
      run += 1;
      spaces = 0;
      if (isLetter(code)) word += 1;
      else {
        ofRun += wordTokens(word) + 0.5;
        word = 0;
      }
      continue;
    }
    if (run > 0) {
      tokens += run > LONGEST_WORD ? run * 0.6 : ofRun + wordTokens(word);
      run = 0;
      ofRun = 0;
      word = 0;
    }
    if (code === SPACE || code === LINE_FEED || code === TAB) {
      // The first space belongs to the next word.
      if (spaces > 0 || code !== SPACE) tokens += spaces === 0 ? 0.5 : 0.1;
      spaces += 1;
      continue;
    }
    spaces = 0;
    if (code < 128) tokens += 0.6;
    else if (code < FIRST_CJK) tokens += 0.5;
    else tokens += 1;
  }
  return Math.ceil(tokens);
}

const SPACE = 32;
const LINE_FEED = 10;
const TAB = 9;
const FIRST_CJK = 0x2e80;
const LONGEST_WORD = 24;

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function wordTokens(length: number): number {
  if (length === 0) return 0;
  return length <= 5 ? 1 : 1 + (length - 5) / 6;
}

const counted = new WeakMap<StoredMessage, number>();
const measured = new WeakMap<StoredMessage, number>();

/** Stored messages never change, so each is counted once. */
export function messageTokens(message: StoredMessage): number {
  return known(counted, message, ({ role, content }) =>
    role === 'tool_result' ? resultTokens(content) : contentTokens(content),
  );
}

/** Characters as JSON, media included. */
export function messageBytes(message: StoredMessage): number {
  return known(measured, message, ({ content }) => JSON.stringify(content).length);
}

function known(
  counts: WeakMap<StoredMessage, number>,
  message: StoredMessage,
  count: (message: StoredMessage) => number,
): number {
  let found = counts.get(message);
  if (found === undefined) {
    found = count(message);
    counts.set(message, found);
  }
  return found;
}

export function saidTokens(message: ModelMessage): number {
  switch (message.role) {
    case 'user':
      return MESSAGE_TOKENS + (message.parts ? partsTokens(message.parts) : estimateTokens(message.text));
    case 'system':
      return MESSAGE_TOKENS + estimateTokens(message.text);
    case 'tool':
      return MESSAGE_TOKENS + jsonTokens(message.output) + partsTokens(message.parts ?? []);
    case 'assistant':
      return message.calls.reduce(
        (tokens, { name, arguments: args }) =>
          tokens + MESSAGE_TOKENS + estimateTokens(name) + jsonTokens(args),
        MESSAGE_TOKENS + estimateTokens(message.text),
      );
  }
}

/** The tokens that a conversation may take: the context without the answer, the prompt and the tools. */
export function roomFor({ model, snapshot }: Pick<RunView, 'model' | 'snapshot'>): number {
  const tokens = (contextTokens(model) - mostOutput(model)) / DEFAULT_RATIO;
  // If the prompt leaves no room, the provider refuses the request and the operator must shorten the prompt.
  return Math.floor(Math.max(tokens - fixedTokens(snapshot), tokens / 4));
}

export function contextTokens({ contextTokens: declared }: RunView['model']): number {
  return declared ?? DEFAULT_CONTEXT_TOKENS;
}

const fixed = new WeakMap<RunView['snapshot'], number>();

/** The prompt and the tools of an agent. */
export function fixedTokens(snapshot: RunView['snapshot']): number {
  let tokens = fixed.get(snapshot);
  if (tokens === undefined) {
    const tools = snapshot.tools.map(({ name, description, inputSchema }) => [
      name,
      description,
      inputSchema,
    ]);
    tokens = estimateTokens(snapshot.prompt) + jsonTokens(tools);
    fixed.set(snapshot, tokens);
  }
  return tokens;
}

function contentTokens(content: unknown): number {
  const { text, parts, ...rest } = content as { text?: string; parts?: ContentPart[] };
  if (Array.isArray(parts)) return MESSAGE_TOKENS + estimateTokens(text ?? '') + partsTokens(parts);
  if (typeof text === 'string') return MESSAGE_TOKENS + estimateTokens(text);
  return MESSAGE_TOKENS + jsonTokens(rest);
}

function resultTokens(content: StoredMessage['content']): number {
  const { result, ...rest } = content as { result: Json };
  const { output, images } = splitMedia(result);
  return MESSAGE_TOKENS + jsonTokens({ ...rest, result: output }) + partsTokens(images);
}

function partsTokens(parts: readonly ContentPart[]): number {
  return parts.reduce(
    (tokens, part) => tokens + (part.type === 'text' ? estimateTokens(part.text) : partTokens(part)),
    0,
  );
}

function partTokens(part: ContentPart): number {
  return part.type === 'image' ? IMAGE_TOKENS : jsonTokens(part);
}

function jsonTokens(value: unknown): number {
  return estimateTokens(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}
