import type { Json, JsonObject } from '@troupe/protocol';
import type {
  Model,
  ModelAnswer,
  ModelDelta,
  ModelMessage,
  ModelRequest,
  ModelTool,
} from '../../src/kernel/ports.ts';

export const RUN_ID = '01890a5d-ac96-774b-bcce-b302099a8057';

export function buildRequest(changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'test',
    system: '',
    messages: [{ role: 'user', text: 'Hello' }],
    tools: [],
    toolChoice: 'auto',
    maxOutputTokens: 4096,
    requestKey: 'key-1',
    runId: RUN_ID,
    step: 1,
    ...changes,
  };
}

export function buildTool(name: string, properties: JsonObject = {}, required: string[] = []): ModelTool {
  return { name, description: '', inputSchema: { type: 'object', properties, required } };
}

export function user(text: string, name?: string): ModelMessage {
  return name === undefined ? { role: 'user', text } : { role: 'user', text, name };
}

export interface Asked {
  answer: ModelAnswer;
  deltas: ModelDelta[];
}

export async function ask(model: Model, request: ModelRequest, signal?: AbortSignal): Promise<Asked> {
  const deltas: ModelDelta[] = [];
  const io = {
    signal: signal ?? new AbortController().signal,
    onDelta: (delta: ModelDelta) => deltas.push(delta),
  };
  const answer = await model.generate(request, io);
  return { answer, deltas };
}

export function streamedText(deltas: ModelDelta[]): string {
  return deltas.flatMap((delta) => (delta.type === 'text' ? [delta.text] : [])).join('');
}

export function streamedInput(deltas: ModelDelta[], callId: string): string {
  return deltas
    .flatMap((delta) => (delta.type === 'tool_input' && delta.callId === callId ? [delta.text] : []))
    .join('');
}

/** The conversation after the answer's calls came to these ends. */
export function afterTools(
  request: ModelRequest,
  answer: ModelAnswer,
  ends: { output: Json; isError?: boolean }[],
): ModelRequest {
  const results = answer.calls.map((call, index): ModelMessage => {
    const end = ends[index] ?? { output: null };
    return {
      role: 'tool',
      callId: call.id,
      name: call.name,
      output: end.output,
      isError: end.isError ?? false,
    };
  });
  const said: ModelMessage = { role: 'assistant', text: answer.text, calls: answer.calls };
  return {
    ...request,
    messages: [...request.messages, said, ...results],
    step: request.step + 1,
    requestKey: `key-${request.step + 1}`,
  };
}
