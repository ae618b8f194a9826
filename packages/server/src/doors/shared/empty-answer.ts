import type { TextContent } from '@troupe/protocol';
import type { Meaning, ModelAnswer, ModelMessage, RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { REFUSED_KEY } from './answer.ts';
import { extraSteps } from './compaction.ts';
import { contentFiltered } from './content-filter.ts';

// An empty answer has neither text nor calls. It is valid; each door decides what it means.

/** Code of decisions and runs that fail because the model gave no answer. */
export const EMPTY_ANSWER = 'empty_answer';

export function isEmptyAnswer({ text, calls }: Pick<ModelAnswer, 'text' | 'calls'>): boolean {
  return text.trim() === '' && calls.length === 0;
}

/**
 * An empty answer because a content filter or the output limit stopped the model before it wrote any text. The next model is
 * asked, if there is one. Null: the model ended the answer itself. `advice`: the remedy for a content filter.
 */
export function stoppedEmpty(
  answer: ModelAnswer,
  { model }: Pick<RunView, 'model'>,
  advice: string,
): Meaning | null {
  if (!isEmptyAnswer(answer)) return null;
  if (answer.finishReason === 'content_filter') return { messages: [], refuse: contentFiltered(advice) };
  if (answer.finishReason !== 'length') return null;
  const message =
    `The model ${model.model} used all its output tokens before it wrote any text. ` +
    'Raise maxOutputTokens of the model, or lower the reasoning effort.';
  return { messages: [], refuse: { code: 'model_empty', message, retryable: false } };
}

/**
 * The step ends with a request to answer, and the run goes on. The message is in the thread before the model is asked again, so
 * a worker that takes over the run neither loses nor repeats it.
 */
export function nudge(text: string): Meaning {
  const metadata = { [REFUSED_KEY]: { empty: true } };
  return { messages: [{ role: 'system', content: { text }, metadata }], end: false };
}

/** Whether an empty answer is the first in a row and the run may take another step. `own`: messages of the run. */
export function mayNudge(view: RunView, own: readonly StoredMessage[]): boolean {
  return view.step < view.snapshot.limits.steps + extraSteps(view) && !isNudge(own.at(-1));
}

/** The request as a model message. Null if the message is not a request to answer. */
export function asNudged(message: StoredMessage): ModelMessage[] | null {
  return isNudge(message) ? [{ role: 'user', text: (message.content as TextContent).text }] : null;
}

function isNudge(message: StoredMessage | undefined): boolean {
  const noted = message?.metadata?.[REFUSED_KEY] as { empty?: unknown } | undefined;
  return message?.role === 'system' && noted?.empty === true;
}
