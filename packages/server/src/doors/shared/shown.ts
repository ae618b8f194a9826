import type { SnapshotModel, ToolResultContent } from '@troupe/protocol';
import { splitMedia } from '../../base/index.ts';
import {
  type Context,
  type ModelMessage,
  mostOutput,
  type RunView,
  toModelMessages,
} from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { noteSent } from './calibration.ts';
import { canSummarise } from './compaction.ts';
import { RECALL } from './recall-tool.ts';
import { cutText, shortened } from './shorten.ts';
import { asSaid } from './summary.ts';
import { contextTokens, estimateTokens, fixedTokens } from './tokens.ts';
import { type Due, RESULT_TOKENS, summarisers, type Window } from './window.ts';

const CUT_SHARE = 0.75;

type Viewed = Pick<RunView, 'run' | 'snapshot' | 'transcript'>;

/** Computes a window once for each length of a transcript: doors ask several times per step. */
export function rememberWindow<View extends Viewed>(compute: (view: View) => Window): (view: View) => Window {
  const known = new WeakMap<readonly StoredMessage[], { length: number; window: Window }>();
  return (view) => {
    const { transcript } = view;
    const before = known.get(transcript);
    if (before?.length === transcript.length) return before.window;
    const window = compute(view);
    known.set(transcript, { length: transcript.length, window });
    return window;
  };
}

/** Whether the next step writes a summary. */
export function isSummarising(view: Viewed, window: Window): window is Window & { due: Due } {
  return window.due !== null && canSummarise(view);
}

/** The models that take the next step. */
export function modelsFor(view: Viewed, window: Window): readonly SnapshotModel[] {
  return isSummarising(view, window) ? summarisers(view.snapshot) : view.snapshot.models;
}

/** The messages and tools of an ordinary step. `more`: the parts of the prompt beside the agent's own. */
export function shownIn(
  window: Window,
  view: RunView,
  more: readonly string[],
  instead: (message: StoredMessage) => ModelMessage[] | null,
): Pick<Context, 'messages' | 'tools'> {
  const { summary, shown, ratio } = window;
  const inPart = shown.map((message) => (window.shortened.has(message) ? cutResult(message) : message));
  const messages = toModelMessages(summary ? [asSaid(summary), ...inPart] : inPart, view, instead);
  const fixed = more.reduce((tokens, part) => tokens + estimateTokens(part), fixedTokens(view.snapshot));
  const all = (contextTokens(view.model) - mostOutput(view.model)) / ratio;
  const room = Math.min(Math.max(all - fixed, all / 4), window.limit);
  const isTooLong = window.tokens > room;
  // The estimate of a request that is cut says nothing about the ratio.
  if (!isTooLong) noteSent(view, fixed + window.tokens);
  const hasLeft = summary !== null || window.shortened.size > 0;
  return {
    // Messages that must be cut are cut with a margin: the estimate of a single large message may be far off.
    messages: isTooLong ? shortened(messages, room * CUT_SHARE) : messages,
    ...(hasLeft ? {} : withoutRecall(view.snapshot)),
  };
}

/** While the whole conversation is shown there is nothing to recall, and the tool would only use tokens. */
function withoutRecall({ tools }: RunView['snapshot']): Pick<Context, 'tools'> {
  if (!tools.some(({ name }) => name === RECALL)) return {};
  return {
    tools: tools
      .filter(({ name }) => name !== RECALL)
      .map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  };
}

const cut = new WeakMap<StoredMessage, StoredMessage>();

function cutResult(message: StoredMessage): StoredMessage {
  const known = cut.get(message);
  if (known) return known;
  const content = message.content as ToolResultContent;
  const { output } = splitMedia(content.result);
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const why = `are left out; call ${RECALL} with callId ${JSON.stringify(message.callId)} to read them`;
  const result = cutText(text, RESULT_TOKENS, why);
  const short = { ...message, content: { ...content, result } as StoredMessage['content'] };
  cut.set(message, short);
  return short;
}
