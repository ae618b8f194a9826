import type { JsonObject } from '@troupe/protocol';
import type { Meaning, ModelAnswer, RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';

// Corrects token estimates by the usage that a provider reports. The ratio is stored with the answer that revealed it, so
// every process that reads the thread computes the same window, and so does one that reproduces an old prompt.

/** Metadata of an answer or a summary: `{ model, ratio }`, reported tokens per estimated token. */
export const TOKENS_KEY = 'troupe:tokens';

/** Assumed until a provider reports usage. A high estimate is safer than a request that is refused as too long. */
export const DEFAULT_RATIO = 1.15;
/** Below this, the tokens that a provider adds around a request distort the ratio. */
const MIN_TOKENS = 2_000;
const MIN_CHANGE = 0.08;
const RATIO_LIMITS = { min: 0.5, max: 4 };

interface Calibration {
  model: string;
  ratio: number;
}

export function calibrationIn({
  role,
  metadata,
}: Pick<StoredMessage, 'role' | 'metadata'>): Calibration | null {
  // Metadata of users is not trusted.
  if (role !== 'assistant' && role !== 'system') return null;
  const noted = metadata?.[TOKENS_KEY] as Partial<Calibration> | undefined;
  return typeof noted?.model === 'string' && typeof noted.ratio === 'number' ? (noted as Calibration) : null;
}

/** The ratio after a message, if the ratio before it was `ratio`. */
export function ratioAfter(message: StoredMessage, model: string, ratio: number): number {
  const noted = calibrationIn(message);
  return noted?.model === model ? noted.ratio : ratio;
}

/** Metadata of a notice or a summary: `{ model, tokens }`, a conversation of so many estimated tokens is too long for it. */
export const LIMIT_KEY = 'troupe:limit';

/** Share of a refused conversation that is tried next. */
const LIMIT_SHARE = 0.7;
const MIN_LIMIT = 400;
const MAX_REFUSALS = 4;

/** The newest limit that is known of the provider of this model; infinite: none. */
export function limitIn(transcript: readonly StoredMessage[], model: string): number {
  const known = transcript.findLast((message) => limitOf(message)?.model === model);
  return known ? limitOf(known)!.tokens : Number.POSITIVE_INFINITY;
}

function limitOf({ role, metadata }: StoredMessage): { model: string; tokens: number } | null {
  const noted = role === 'system' ? (metadata?.[LIMIT_KEY] as { model?: unknown; tokens?: unknown }) : null;
  return typeof noted?.model === 'string' && typeof noted.tokens === 'number'
    ? { model: noted.model, tokens: noted.tokens }
    : null;
}

/** A message that records that the provider refused the conversation. Models do not see it. */
export function isLimitNotice(message: StoredMessage): boolean {
  return message.metadata?.[NOTICE_KEY] === true && limitOf(message) !== null;
}

const NOTICE_KEY = 'troupe:notice';

/**
 * What to commit if the provider refused the conversation as too long: the limit is known from then on, so the next step
 * summarises or shows less. Null if that was tried often enough.
 */
export function lengthRefused(
  { run, snapshot, transcript }: Pick<RunView, 'run' | 'snapshot' | 'transcript'>,
  { tokens, limit }: { tokens: number; limit: number },
): Meaning | null {
  const refusals = transcript.filter((one) => one.runId === run.id && isLimitNotice(one)).length;
  const next = Math.floor(Math.min(tokens, limit) * LIMIT_SHARE);
  if (refusals >= MAX_REFUSALS || next < MIN_LIMIT) return null;
  const model = snapshot.models[0]!.model;
  return {
    messages: [
      {
        role: 'system',
        content: {
          text: `The provider of ${model} refused the conversation as too long. Less of it is shown.`,
        },
        metadata: { [NOTICE_KEY]: true, [LIMIT_KEY]: { model, tokens: next } },
      },
    ],
    calls: [],
    end: false,
    step: { decision: { type: 'TOO_LONG', limit: next }, handsOver: true },
  };
}

const sent = new WeakMap<RunView, number>();

/** Remembers the estimate of a request until its answer comes. */
export function noteSent(view: RunView, tokens: number): void {
  sent.set(view, tokens);
}

/** Metadata for the answer, if it shows that the ratio in force is wrong. */
export function calibration(
  view: RunView,
  { usage }: Pick<ModelAnswer, 'usage'>,
  ratio: number,
): JsonObject | null {
  const estimated = sent.get(view);
  if (estimated === undefined || estimated < MIN_TOKENS || !usage.inputTokens) return null;
  const seen = Math.min(Math.max(usage.inputTokens / estimated, RATIO_LIMITS.min), RATIO_LIMITS.max);
  if (Math.abs(seen / ratio - 1) < MIN_CHANGE) return null;
  return { [TOKENS_KEY]: { model: view.model.model, ratio: Math.round(seen * 100) / 100 } };
}
