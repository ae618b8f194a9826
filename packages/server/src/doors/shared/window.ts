import type { AgentSnapshot, SnapshotModel } from '@troupe/protocol';
import { mostOutput, type RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { DEFAULT_RATIO, limitIn, ratioAfter } from './calibration.ts';
import { type Coverage, isSummary, newestSummary, unloaded } from './summary.ts';
import { contextTokens, estimateTokens, fixedTokens, messageBytes, messageTokens } from './tokens.ts';

// Decides which part of a conversation a model sees. Everything is shown while it fits. Above the threshold, large tool results
// are shortened, oldest first; if that is not enough, the oldest messages are due to be summarised. The window is a pure function
// of the transcript and the snapshot. So the prompt prefix changes only at these points and prompt caches stay valid, every
// process decides the same, and old prompts can be reproduced.

export interface Conversation {
  /** Earlier turns in the order in which they are shown. */
  earlier: readonly (readonly StoredMessage[])[];
  /** The turn of the run. */
  own: readonly StoredMessage[];
  /** Messages that are not shown and that no summary has to mention. */
  hidden?(message: StoredMessage, isOwn: boolean): boolean;
}

export interface Due {
  /** The earlier summary, which the next one includes. */
  summary: StoredMessage | null;
  /** The messages that leave, in the order in which they were shown. */
  leaving: StoredMessage[];
  /** A single step is more than a summariser can read: it is shown to it in part. */
  isOversized: boolean;
  coverage: Coverage;
  /** What is known of the size of the conversation, to be kept with the summary. */
  ratio: number;
  limit: number;
}

export interface Window {
  summary: StoredMessage | null;
  /** The messages after the summary, in order. */
  shown: StoredMessage[];
  /** Tool results among these that are shown in part. */
  shortened: ReadonlySet<StoredMessage>;
  /** The messages that the next summary covers; null: none is due. */
  due: Due | null;
  /** Reported tokens per estimated token. */
  ratio: number;
  /** Estimated tokens of the summary and of the shown messages. */
  tokens: number;
  /** Estimated tokens above which the provider is known to refuse; infinite: not known. */
  limit: number;
}

const DEFAULT_THRESHOLD = 0.8;
const DEFAULT_KEEP_LAST = 20;
/** The most messages before the trigger that a run loads. More than four fifths of it are summarised even if they fit. */
export const MAX_HISTORY = 5_000;
const MAX_MESSAGES = 4_000;
/** Larger conversations are summarised too: images and shortened results have many bytes for few tokens, and a run loads them. */
const MAX_BYTES = 8_000_000;
/** Shares of the threshold: verbatim messages after a compaction, and everything after results were shortened. */
const KEEP_SHARE = 0.5;
const SHORTENED_SHARE = 0.7;
/** A shortened result has about this many tokens. */
export const RESULT_TOKENS = 400;
/** Shares of the room: the most that one message takes (see shorten.ts), and the least that is worth a summary. */
const MESSAGE_SHARE = 0.4;
const MIN_LEAVING_SHARE = 0.05;
/** Share of the threshold that a summary may take. */
const SUMMARY_SHARE = 0.2;
const MIN_SUMMARY_TOKENS = 200;
/** The built-in instructions of the summariser. */
const INSTRUCTION_TOKENS = 600;
const LINE_TOKENS = 8;
const LINE_RATIO = 1.1;

interface Block {
  messages: StoredMessage[];
  tokens: number;
  bytes: number;
  turn: number;
  /** The message that started the run stays. */
  pinned: boolean;
}

export function windowFor(
  { run, snapshot, transcript }: Pick<RunView, 'run' | 'snapshot' | 'transcript'>,
  { earlier, own, hidden = () => false }: Conversation,
): Window {
  const model = snapshot.models[0]!;
  const { threshold = DEFAULT_THRESHOLD, keepLast = DEFAULT_KEEP_LAST } = snapshot.compaction ?? {};
  const limit = limitIn(transcript, model.model);
  const { summary, covers, upTo } = newestSummary(transcript);
  const maxMessages = snapshot.limits.historyMessages ?? MAX_MESSAGES;
  const turns = [...earlier, own];
  const isOwn = (turn: number) => turn === earlier.length;
  const blocks = turns.flatMap((messages, turn) =>
    toBlocks(messages.filter((message) => !hidden(message, isOwn(turn)))).map(
      (block): Block => ({
        messages: block,
        tokens: sum(block.map(messageTokens)),
        bytes: sum(block.map(messageBytes)),
        turn,
        pinned: isOwn(turn) && block.some(({ seq }) => seq === run.triggerSeq),
      }),
    ),
  );

  const shortened = new Set<StoredMessage>();
  let ratio = summary ? ratioAfter(summary, model.model, DEFAULT_RATIO) : DEFAULT_RATIO;
  let room = Math.min(roomAt(snapshot, ratio), limit);
  let tokens = summary ? messageTokens(summary) : 0;
  let used = tokens;
  let count = 0;
  let next = 0;
  const counted: number[] = [];
  const firstKept = (last: number) => {
    const messages = Math.min(keepLast, maxMessages / 2);
    const keep = { messages, tokens: KEEP_SHARE * threshold * room, bytes: MAX_BYTES / 2 };
    return verbatimFrom(blocks, last, keep, isOwn);
  };
  for (const [index, block] of blocks.entries()) {
    tokens += block.tokens;
    counted[index] = Math.min(block.tokens, room * MESSAGE_SHARE);
    used += counted[index]!;
    count += block.messages.length;
    for (const message of block.messages) ratio = ratioAfter(message, model.model, ratio);
    room = Math.min(roomAt(snapshot, ratio), limit);
    if (used <= threshold * room) continue;
    const kept = firstKept(index);
    for (; next < kept && used > SHORTENED_SHARE * threshold * room; next++) {
      const large = blocks[next]!.messages.filter(isLargeResult);
      const saved = sum(large.map((message) => messageTokens(message) - RESULT_TOKENS));
      for (const message of large) shortened.add(message);
      tokens -= saved;
      const rest = Math.min(blocks[next]!.tokens - saved, counted[next]!);
      used -= counted[next]! - rest;
      counted[next] = rest;
    }
  }

  const shown = blocks.flatMap(({ messages }) => messages);
  const window = { summary, shown, shortened, ratio, tokens, limit };
  const isTooMuch = count > maxMessages || sum(blocks.map(({ bytes }) => bytes)) > MAX_BYTES;
  if (used <= threshold * room && !isTooMuch) return { ...window, due: null };
  const old = blocks.slice(0, firstKept(blocks.length - 1)).filter(({ pinned }) => !pinned);
  const isWorth = isTooMuch || sum(old.map(({ tokens }) => tokens)) > MIN_LEAVING_SHARE * room;
  if (old.length === 0 || !isWorth) return { ...window, due: null };

  const { chunk, isOversized } = firstChunk(old, summariserRoom(snapshot, summary));
  const leaving = chunk.flatMap(({ messages }) => messages);
  const last = Math.max(upTo, ...leaving.map(({ seq }) => seq));
  // Later turns are in the transcript but not among the shown turns.
  const stays = new Set(transcript);
  const visible = new Set(shown);
  for (const message of turns.flat()) if (!visible.has(message)) stays.delete(message);
  for (const message of leaving) stays.delete(message);
  const kept = [...stays]
    .filter((one) => one.seq <= last && !covers(one) && !isSummary(one))
    .map(({ seq }) => seq);
  const later = unloaded(transcript, run, last);
  const coverage = { upTo: last, kept, ...(later.length > 0 ? { later } : {}) };
  return { ...window, due: { summary, leaving, isOversized, coverage, ratio, limit } };
}

/** The tokens that a summary of this agent's conversations may have. */
export function summaryTokens(snapshot: AgentSnapshot): number {
  const { threshold = DEFAULT_THRESHOLD } = snapshot.compaction ?? {};
  const ofAgent = roomAt(snapshot, DEFAULT_RATIO) * threshold * SUMMARY_SHARE;
  const ofSummarisers = summarisers(snapshot).map((model) => contextTokens(model) / 8);
  return Math.max(MIN_SUMMARY_TOKENS, Math.floor(Math.min(ofAgent, ...ofSummarisers)));
}

/** Estimated tokens of messages that every summariser can read at once, beside its instructions and the earlier summary. */
export function summariserRoom(snapshot: AgentSnapshot, summary: StoredMessage | null): number {
  const readable = Math.min(
    ...summarisers(snapshot).map((model) => (contextTokens(model) - mostOutput(model)) / DEFAULT_RATIO),
  );
  const instructions = estimateTokens(snapshot.compaction?.prompt ?? '') + INSTRUCTION_TOKENS;
  const left = readable - instructions - (summary ? messageTokens(summary) : 0);
  return Math.max(left, readable / 4);
}

/** The models that write summaries. */
export function summarisers(snapshot: AgentSnapshot): readonly SnapshotModel[] {
  return snapshot.compaction?.models ?? snapshot.models;
}

/** Estimated tokens that a conversation may take in the agent's first model. */
function roomAt(snapshot: AgentSnapshot, ratio: number): number {
  const model = snapshot.models[0]!;
  const tokens = (contextTokens(model) - mostOutput(model)) / ratio;
  return Math.max(tokens - fixedTokens(snapshot), tokens / 4);
}

/** A message of a person, or the texts, calls and results of one step. */
function toBlocks(messages: readonly StoredMessage[]): StoredMessage[][] {
  const blocks = new Map<string, StoredMessage[]>();
  for (const message of messages) {
    const isSaid = message.role === 'user' || message.role === 'system';
    const key = isSaid ? message.id : `${message.runId} ${message.step}`;
    const block = blocks.get(key);
    if (block) block.push(message);
    else blocks.set(key, [message]);
  }
  return [...blocks.values()];
}

/** The first of the blocks up to `last` that stay verbatim. Earlier turns stay whole or leave. */
function verbatimFrom(
  blocks: readonly Block[],
  last: number,
  keep: { messages: number; tokens: number; bytes: number },
  isOwn: (turn: number) => boolean,
): number {
  let first = last;
  let { messages, tokens, bytes } = keep;
  for (let index = last; index >= 0; index--) {
    messages -= blocks[index]!.messages.length;
    tokens -= blocks[index]!.tokens;
    bytes -= blocks[index]!.bytes;
    if (index < last && (messages < 0 || tokens < 0 || bytes < 0)) break;
    first = index;
  }
  const turnOf = (index: number) => blocks[index]?.turn;
  while (first > 0 && first < last && !isOwn(turnOf(first)!) && turnOf(first - 1) === turnOf(first)) first++;
  return first;
}

/** As many blocks as fit; the rest is due with the next step. */
function firstChunk(blocks: Block[], room: number): { chunk: Block[]; isOversized: boolean } {
  let left = room;
  const end = blocks.findIndex(({ tokens, messages }) => {
    // Each message becomes a line with its number and role, and its text is quoted.
    left -= tokens * LINE_RATIO + messages.length * LINE_TOKENS;
    return left < 0;
  });
  if (end < 0) return { chunk: blocks, isOversized: false };
  return { chunk: blocks.slice(0, Math.max(1, end)), isOversized: end === 0 };
}

function isLargeResult(message: StoredMessage): boolean {
  return message.role === 'tool_result' && messageTokens(message) > RESULT_TOKENS * 1.5;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
