import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { RetryableError } from '../../base/index.ts';
import type { ModelAnswer, ModelIo, ModelRequest } from '../../kernel/ports.ts';
import { inputTokens, outputTokens } from '../tokens.ts';
import { sleep, until } from '../waits.ts';
import { StreamedCalls } from './streamed-calls.ts';
import { StreamedThoughts } from './thoughts.ts';

/** For the end of the connection after the last part, so that it can be used again. */
const CLOSING_MS = 250;

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

/** Passes every piece on as it arrives, and assembles the answer. An empty answer is valid: the door decides its meaning. */
export async function readAnswer(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  request: ModelRequest,
  io: ModelIo,
): Promise<ModelAnswer> {
  const reader = stream.getReader();
  const calls = new StreamedCalls(request, io.onDelta);
  const thoughts = new StreamedThoughts();
  let text = '';
  let reasoning = '';
  let finish: Finish | undefined;
  try {
    while (!finish) {
      const { done, value: part } = await until(reader.read(), io.signal);
      if (done) break;
      switch (part.type) {
        case 'text-delta':
          text += part.delta;
          if (part.delta !== '') io.onDelta({ type: 'text', text: part.delta });
          break;
        case 'reasoning-start':
        case 'reasoning-end':
          thoughts.add(part, { characters: text.length, calls: calls.count });
          break;
        case 'reasoning-delta':
          thoughts.add(part, { characters: text.length, calls: calls.count });
          reasoning += part.delta;
          if (part.delta !== '') io.onDelta({ type: 'reasoning', text: part.delta });
          break;
        case 'tool-input-start':
          calls.start(part.id, part.toolName);
          break;
        case 'tool-input-delta':
          calls.piece(part.id, part.delta);
          break;
        case 'tool-call':
          calls.finish(part.toolCallId, part.toolName, part.input);
          break;
        case 'error':
          throw part.error;
        case 'finish':
          finish = part;
          break;
      }
    }
    if (finish) await Promise.race([reader.read(), sleep(CLOSING_MS, io.signal)]).catch(() => {});
  } finally {
    reader.cancel().catch(() => {});
  }

  const parts = thoughts.parts();
  const answer = {
    text,
    calls: calls.all(finish?.finishReason.unified === 'length'),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(parts === undefined ? {} : { reasoningParts: parts }),
  };
  const finishReason = finishReasonOf(finish?.finishReason, answer.calls.length);
  return { ...answer, finishReason, usage: usageOf(finish, request, answer) };
}

function finishReasonOf(
  reason: LanguageModelV4FinishReason | undefined,
  calls: number,
): ModelAnswer['finishReason'] {
  switch (reason?.unified) {
    case 'stop':
    case 'tool-calls':
      return calls > 0 ? 'tool_calls' : 'stop';
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'other':
      return 'other';
    default:
      throw new RetryableError('model_stream_cut', "The model's answer broke off before its end.");
  }
}

/** Where a provider does not count, or counts nothing, it is estimated: a budget that hears of nothing bounds nothing. */
function usageOf(
  finish: Finish | undefined,
  request: ModelRequest,
  answer: Pick<ModelAnswer, 'text' | 'calls' | 'reasoning'>,
): ModelAnswer['usage'] {
  const { inputTokens: input, outputTokens: output } = finish?.usage ?? {};
  const { cacheRead = 0, cacheWrite = 0 } = input ?? {};
  return {
    ...(cacheRead > 0 ? { cacheReadTokens: cacheRead } : {}),
    ...(cacheWrite > 0 ? { cacheWriteTokens: cacheWrite } : {}),
    inputTokens: input?.total || inputTokens(request),
    outputTokens: output?.total || outputTokens(answer.text, answer.calls, answer.reasoning),
  };
}
