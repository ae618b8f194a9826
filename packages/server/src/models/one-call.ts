import { TroupeError } from '../base/index.ts';
import type { Model } from '../kernel/ports.ts';
import { callId } from './call-ids.ts';
import type { ModelProvider } from './registry.ts';

const USAGE = { inputTokens: 0, outputTokens: 0 };

/**
 * No model at all: it calls the tool that it is named after, with what it was asked as arguments, and answers with the result. For tasks
 * that are one call of a tool.
 */
export const oneCall: ModelProvider = (tool): Model => ({
  kind: 'one_call',
  maxInputTokens: () => 0,
  generate: async (request) => {
    const last = request.messages.at(-1);
    if (last?.role === 'tool') {
      if (last.isError) throw failureOf(last.output);
      const text = typeof last.output === 'string' ? last.output : JSON.stringify(last.output);
      return { text: text || 'null', calls: [], finishReason: 'stop', usage: USAGE };
    }
    if (last?.role !== 'user') throw new TroupeError('not_one_call', 'There is nothing to call a tool with.');
    const call = { id: callId(request, 0), name: tool, arguments: JSON.parse(last.text) };
    return { text: '', calls: [call], finishReason: 'tool_calls', usage: USAGE };
  },
});

function failureOf(output: unknown): TroupeError {
  const { code, message } = (output ?? {}) as { code?: unknown; message?: unknown };
  return new TroupeError(
    typeof code === 'string' ? code : 'tool_error',
    typeof message === 'string' ? message : 'The tool failed without saying why.',
  );
}
