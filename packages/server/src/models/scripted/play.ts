import { RetryableError, TroupeError } from '../../base/index.ts';
import type { ModelAnswer, ModelCall, ModelDelta, ModelIo, ModelRequest } from '../../kernel/ports.ts';
import { callId } from '../call-ids.ts';
import { argumentsText, inputTokens, outputTokens } from '../tokens.ts';
import { sleep, until, untilAborted } from '../waits.ts';
import type { Turn } from './turn.ts';

/** gate → delay → pieces (reasoning, text, arguments), with the fault at its place among them → the answer. */
export async function play(
  turn: Turn,
  request: ModelRequest,
  attempt: number,
  io: ModelIo,
): Promise<ModelAnswer> {
  const { signal } = io;
  const text = textOf(turn);
  const calls = callsOf(turn, request);
  const pieces = piecesOf(turn, text, calls);
  const faultAt = faultPosition(turn, attempt, pieces.length);

  if (turn.gate) await until(turn.gate, signal);
  await sleep(turn.delayMs ?? 0, signal);
  for (const [position, piece] of pieces.entries()) {
    if (position === faultAt) await fault(turn, position, signal);
    if (position > 0) await sleep(turn.delayBetweenChunksMs ?? 0, signal);
    signal.throwIfAborted();
    io.onDelta(piece);
  }
  if (faultAt === pieces.length) await fault(turn, faultAt, signal);
  signal.throwIfAborted();

  return {
    text,
    calls,
    finishReason: turn.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: turn.usage ?? {
      inputTokens: inputTokens(request),
      outputTokens: outputTokens(text, calls, turn.reasoning),
    },
    ...(turn.reasoning === undefined ? {} : { reasoning: turn.reasoning }),
  };
}

function textOf(turn: Turn): string {
  const text = turn.text ?? turn.chunks?.join('') ?? '';
  if (turn.chunks) sameText('text', text, turn.chunks);
  return text;
}

function callsOf(turn: Turn, request: ModelRequest): ModelCall[] {
  return (turn.calls ?? []).map((call, index) => ({
    id: call.id ?? callId(request, index),
    name: call.name,
    arguments: call.invalid !== undefined ? null : call.arguments === undefined ? {} : call.arguments,
    ...(call.invalid === undefined ? {} : { invalid: call.invalid }),
  }));
}

function piecesOf(turn: Turn, text: string, calls: ModelCall[]): ModelDelta[] {
  const pieces: ModelDelta[] = [];
  if (turn.reasoning) pieces.push({ type: 'reasoning', text: turn.reasoning });
  for (const piece of turn.chunks ?? (text ? [text] : [])) pieces.push({ type: 'text', text: piece });
  for (const [index, call] of calls.entries()) {
    const written = argumentsText(call);
    const chunks = turn.calls?.[index]?.chunks;
    if (chunks) sameText(`arguments of ${call.name}`, written, chunks);
    for (const piece of chunks ?? [written]) {
      pieces.push({ type: 'tool_input', callId: call.id, name: call.name, text: piece });
    }
  }
  return pieces;
}

function faultPosition(turn: Turn, attempt: number, pieces: number): number | undefined {
  const faulty = turn.error !== undefined || turn.stallForever === true || turn.failAfterChunks !== undefined;
  if (!faulty || attempt > (turn.faultTimes ?? Number.POSITIVE_INFINITY)) return undefined;
  return Math.min(turn.failAfterChunks ?? 0, pieces);
}

async function fault(turn: Turn, position: number, signal: AbortSignal): Promise<never> {
  if (turn.stallForever) return untilAborted(signal);
  const { error } = turn;
  if (!error)
    throw new RetryableError('model_error', `The stream broke after ${position} pieces, as scripted.`);
  if (!error.retryable) throw new TroupeError(error.code, error.message);
  const after = error.retryAfterMs;
  throw new RetryableError(error.code, error.message, after === undefined ? {} : { retryAfterMs: after });
}

function sameText(what: string, whole: string, chunks: readonly string[]): void {
  if (chunks.join('') === whole) return;
  throw new TroupeError('invalid_script', `The chunks of the ${what} do not add up to it.`, {
    hint: 'Give the chunks alone, or make them add up exactly.',
  });
}
