import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../../kernel/ports.ts';
import { argumentsText, inputTokens, outputTokens } from '../tokens.ts';
import { sleep } from '../waits.ts';
import { fitReply } from './fit.ts';
import { pieces } from './pieces.ts';
import { reply } from './reply.ts';
import { sampleOf } from './sample.ts';
import { situationOf } from './situation.ts';
import { spokenBy } from './voice.ts';

export interface DemoOptions {
  /** Before every piece of the stream; 0 = as fast as it can. */
  delayMs?: number;
}

export function createDemo({ delayMs = 15 }: DemoOptions = {}): Model {
  return {
    maxInputTokens: inputTokens,
    async generate(request, io) {
      io.signal.throwIfAborted();
      const answer = answerTo(request);
      for (const delta of deltasOf(answer)) {
        await sleep(delayMs, io.signal);
        io.onDelta(delta);
      }
      io.signal.throwIfAborted();
      return answer;
    },
  };
}

function answerTo(request: ModelRequest): ModelAnswer {
  const situation = situationOf(request);
  const fit = fitReply(reply(situation), request, spokenBy(situation));
  const { calls } = fit;
  const { answerSchema } = request;
  const written = answerSchema && calls.length === 0;
  const text = written ? JSON.stringify(sampleOf(answerSchema, fit.text)) : fit.text;
  const cut = fit.cut && !written;
  return {
    text,
    calls,
    finishReason: cut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    usage: { inputTokens: inputTokens(request), outputTokens: outputTokens(text, calls) },
  };
}

function deltasOf({ text, calls }: ModelAnswer): ModelDelta[] {
  const deltas: ModelDelta[] = pieces(text).map((piece) => ({ type: 'text', text: piece }));
  for (const call of calls) {
    for (const piece of pieces(argumentsText(call))) {
      deltas.push({ type: 'tool_input', callId: call.id, name: call.name, text: piece });
    }
  }
  return deltas;
}
