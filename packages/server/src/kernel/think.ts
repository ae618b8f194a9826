import type { AgentSnapshot, SnapshotModel } from '@troupe/protocol';
import { messageOf, RetryableError, TroupeError } from '../base/index.ts';
import type { StepRow } from '../store/index.ts';
import { orAborted } from './abort.ts';
import type { Budgets, Denied } from './budget.ts';
import type { CallIds } from './call-ids.ts';
import type { Context, Door, Meaning, RunView } from './door.ts';
import { modelCalls, modelCost, modelErrors, modelSeconds, modelTokens } from './meters.ts';
import { plainText } from './plain-json.ts';
import type { ModelAnswer, ModelDelta, ModelRequest, Models, ModelUsage } from './ports.ts';
import { type KeptReasoning, storable } from './reasoning.ts';
import type { StandingBudgets } from './standing-budgets.ts';
import type { ModelCalled } from './telemetry.ts';

export interface Thought {
  answer: ModelAnswer;
  meaning: Meaning;
  stepRow: StepRow;
  /** What the model wants back with the results of its calls. */
  kept: { reasoning?: KeptReasoning };
  /** Called when the step is on disk (true) or was given up (false). */
  spend(committed: boolean): void;
}

export interface ThoughtFailed {
  code: string;
  message: string;
  retryable: boolean;
  retryAfterMs: number;
}

export interface Thinking {
  models: Models;
  budgets: Budgets;
  standing: StandingBudgets;
  door: Door;
  view: RunView;
  attempt: number;
  signal: AbortSignal;
  callIds: CallIds;
  onDelta(delta: ModelDelta): void;
  /** Told of the call of the model, however it went. */
  onCalled?: ((called: ModelCalled) => void) | undefined;
}

/** One model call: what the door shows, what the budgets allow, what the model answers, what the door makes of it. */
export async function think(
  input: Thinking,
): Promise<{ thought: Thought } | { denied: Denied } | { failed: ThoughtFailed }> {
  const { view, signal } = input;
  const { snapshot, model: choice } = view;
  const startedAt = Date.now();
  let firstTokenAt: number | null = null;
  let release = () => {};
  try {
    const context = await orAborted(input.door.context(view), signal);
    const model = input.models.resolve(choice);
    const request = requestOf(context, view);
    const budgetIds = await orAborted(input.standing.of(view.run, signal), signal);
    const reservation = budgetIds?.length
      ? await input.budgets.reserve(
          budgetIds,
          {
            inputTokens: model.maxInputTokens?.(request) ?? bytesOf(request),
            outputTokens: request.maxOutputTokens,
            price: { ...choice, inputPrice: Math.max(choice.inputPrice, choice.cacheWritePrice ?? 0) },
          },
          { run: view.run.id, step: view.step },
        )
      : null;
    if (reservation && 'budget' in reservation) return { denied: reservation };
    if (reservation) {
      request.maxOutputTokens = reservation.outputTokens;
      release = () => reservation.settle(null);
    }

    const watch = watchdog(snapshot, signal);
    const askedAt = Date.now();
    const called = () => ({
      provider: model.kind ?? choice.provider,
      model: choice.model,
      startedAt: askedAt,
      finishedAt: Date.now(),
    });
    let answer: ModelAnswer;
    try {
      const io = {
        signal: watch.signal,
        onDelta(delta: ModelDelta) {
          firstTokenAt ??= Date.now();
          watch.alive();
          if (!context.isInternal) input.onDelta(delta);
        },
      };
      answer = checked(await orAborted(model.generate(request, io), watch.signal), snapshot);
      answer = { ...answer, calls: input.callIds.all(answer.calls) };
    } catch (error) {
      countFailed(model.kind ?? choice.provider, error, signal);
      input.onCalled?.({
        ...called(),
        error: signal.aborted ? 'given_up' : failureOf(error).code,
      });
      throw error;
    } finally {
      watch.stop();
    }

    const cost = costOf(answer, choice);
    countAnswered(model.kind ?? choice.provider, answer, cost, Date.now() - askedAt);
    const { finishReason, usage } = answer;
    input.onCalled?.({ ...called(), finishReason, usage });
    const meaning = await orAborted(input.door.settle(view, answer), signal);
    const spend = (committed: boolean) =>
      reservation?.settle(
        committed
          ? { inputTokens: answer.usage.inputTokens, outputTokens: answer.usage.outputTokens, cost }
          : null,
      );
    if (meaning.refuse) {
      release();
      return { failed: { retryable: true, ...meaning.refuse, retryAfterMs: 0 } };
    }
    const { handsOver: _, ...kept } = meaning.step ?? {};
    return {
      thought: {
        answer,
        meaning,
        spend,
        kept: storable(answer, choice, snapshot.limits.messageBytes),
        stepRow: {
          provider: choice.provider,
          model: choice.model,
          attempt: input.attempt,
          startedAt,
          firstTokenAt,
          finishedAt: Date.now(),
          ...answer.usage,
          cost,
          finishReason: answer.finishReason,
          budgeted: reservation !== null,
          ...kept,
        },
      },
    };
  } catch (error) {
    release();
    return { failed: failureOf(error) };
  }
}

/** What a model is asked, where no budget says otherwise. */
export function requestOf(context: Context, view: RunView): ModelRequest {
  const { snapshot, model, run, step } = view;
  return {
    model: model.model,
    system: context.system,
    messages: context.messages,
    tools:
      context.tools ??
      snapshot.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    toolChoice: context.toolChoice ?? 'auto',
    maxOutputTokens: outputLimit(snapshot, model, view),
    ...(model.imageInput === undefined ? {} : { imageInput: model.imageInput }),
    ...(context.reasoningEffort ? { reasoningEffort: context.reasoningEffort } : {}),
    ...(context.answerSchema ? { answerSchema: context.answerSchema } : {}),
    requestKey: `${run.id}:${step}`,
    runId: run.id,
    step,
  };
}

function countAnswered(provider: string, { usage }: ModelAnswer, cost: number, ms: number): void {
  modelCalls.add(1, provider, 'answered');
  modelSeconds.observe(ms / 1_000, provider);
  modelTokens.add(usage.inputTokens, provider, 'input');
  modelTokens.add(usage.outputTokens, provider, 'output');
  modelCost.add(cost / 1_000_000, provider);
}

/** A call that was given up, because of a cancel for example, is no error of the model's. */
function countFailed(provider: string, error: unknown, outer: AbortSignal): void {
  modelCalls.add(1, provider, outer.aborted ? 'given_up' : 'failed');
  if (!outer.aborted) modelErrors.add(1, provider, failureOf(error).code);
}

export function failureOf(error: unknown): ThoughtFailed {
  if (error instanceof RetryableError) {
    return {
      code: error.code,
      message: withHint(error),
      retryable: true,
      retryAfterMs: error.retryAfterMs ?? 0,
    };
  }
  if (error instanceof TroupeError)
    return { code: error.code, message: withHint(error), retryable: false, retryAfterMs: 0 };
  return {
    code: 'model_error',
    message: messageOf(error) || 'The model failed without saying why.',
    retryable: true,
    retryAfterMs: 0,
  };
}

/** All that is kept of an error is its code and its message: what to do about it must be said there. */
function withHint({ message, hint }: TroupeError): string {
  return hint ? `${message} ${hint}` : message;
}

/** Models come from anywhere: what is not an answer at all is refused here, what is slightly odd is put right. */
function checked(answer: ModelAnswer, snapshot: AgentSnapshot): ModelAnswer {
  const usable =
    typeof answer?.text === 'string' &&
    Array.isArray(answer.calls) &&
    answer.calls.every((call) => typeof call?.name === 'string');
  if (!usable) throw new RetryableError('invalid_answer', 'The model answered in a form that is no answer.');
  const bytes = Buffer.byteLength(answer.text);
  if (bytes > snapshot.limits.messageBytes) {
    throw new TroupeError(
      'answer_too_large',
      `The model's answer takes ${bytes} bytes; a message may take ${snapshot.limits.messageBytes}.`,
    );
  }
  return {
    ...answer,
    text: plainText(answer.text),
    finishReason: answer.finishReason ?? 'other',
    usage: usageOf(answer.usage),
  };
}

function usageOf(usage: Partial<ModelUsage> | undefined): ModelUsage {
  const inputTokens = count(usage?.inputTokens);
  const read = Math.min(count(usage?.cacheReadTokens), inputTokens);
  const write = Math.min(count(usage?.cacheWriteTokens), inputTokens - read);
  return {
    inputTokens,
    outputTokens: count(usage?.outputTokens),
    ...(read > 0 ? { cacheReadTokens: read } : {}),
    ...(write > 0 ? { cacheWriteTokens: write } : {}),
  };
}

function count(tokens: unknown): number {
  return typeof tokens === 'number' && Number.isFinite(tokens)
    ? Math.min(Math.max(0, Math.ceil(tokens)), 1e9)
    : 0;
}

/** What is left of the run's own token limit bounds the answer as well. */
function outputLimit(snapshot: AgentSnapshot, choice: SnapshotModel, view: RunView): number {
  const { tokens } = snapshot.limits;
  const most = mostOutput(choice);
  if (tokens === undefined) return most;
  return Math.max(1, Math.min(most, tokens - view.run.inputTokens - view.run.outputTokens));
}

/** Half of what a model reads at once is the least that is left for the conversation: the answer counts among it. */
export function mostOutput({ maxOutputTokens, contextTokens }: SnapshotModel): number {
  return contextTokens === undefined
    ? maxOutputTokens
    : Math.min(maxOutputTokens, Math.max(1, contextTokens >> 1));
}

export interface Prices {
  inputPrice: number;
  outputPrice: number;
  /** Absent: as any input. */
  cacheReadPrice?: number | undefined;
  cacheWritePrice?: number | undefined;
}

export function costOf({ usage }: { usage: ModelUsage }, price: Prices): number {
  const { inputPrice, outputPrice, cacheReadPrice = inputPrice, cacheWritePrice = inputPrice } = price;
  const { cacheReadTokens: read = 0, cacheWriteTokens: write = 0 } = usage;
  const fresh = usage.inputTokens - read - write;
  return Math.ceil(
    fresh * inputPrice + read * cacheReadPrice + write * cacheWritePrice + usage.outputTokens * outputPrice,
  );
}

/** No tokenizer makes more tokens than there are bytes; the constant is for what providers add around messages. */
function bytesOf(request: ModelRequest): number {
  return (
    Buffer.byteLength(
      JSON.stringify([request.system, request.messages, request.tools, request.answerSchema]),
    ) + 64
  );
}

/** Aborts with a reason where the model takes too long in all, or sends nothing for too long. */
function watchdog(snapshot: AgentSnapshot, outer: AbortSignal) {
  const { modelTimeoutMs, modelStallMs } = snapshot.limits;
  const controller = new AbortController();
  const onOuter = () => controller.abort(outer.reason);
  if (outer.aborted) onOuter();
  else outer.addEventListener('abort', onOuter, { once: true });
  const began = performance.now();
  let sign = began;
  let timer: NodeJS.Timeout;
  const check = () => {
    const now = performance.now();
    if (now - began >= modelTimeoutMs) {
      controller.abort(
        new RetryableError('model_timeout', `The model took longer than ${modelTimeoutMs} ms.`),
      );
    } else if (now - sign >= modelStallMs) {
      controller.abort(new RetryableError('model_stalled', `The model sent nothing for ${modelStallMs} ms.`));
    } else {
      timer = setTimeout(
        check,
        Math.max(1, Math.min(modelTimeoutMs - (now - began), modelStallMs - (now - sign))),
      );
    }
  };
  timer = setTimeout(check, Math.min(modelTimeoutMs, modelStallMs));
  return {
    signal: controller.signal,
    alive() {
      sign = performance.now();
    },
    stop() {
      clearTimeout(timer);
      outer.removeEventListener('abort', onOuter);
    },
  };
}
