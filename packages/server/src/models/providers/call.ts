import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ModelAnswer, ModelIo, ModelRequest } from '../../kernel/ports.ts';
import { until } from '../waits.ts';
import { readAnswer } from './answer.ts';
import { cacheTools } from './caching.ts';
import { type Endpoint, languageModel, type RemoteKind } from './endpoint.ts';
import { failureOf } from './failures.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { promptOf } from './prompt.ts';
import { reasoningOptions } from './reasoning.ts';

/** One request to the provider, one answer; the connection is closed whichever way it ends. */
export async function call(endpoint: Endpoint, request: ModelRequest, io: ModelIo): Promise<ModelAnswer> {
  const { signal } = io;
  signal.throwIfAborted();
  // Of this call alone: it ends with the call, while the signal of the run lives on with what was added to it.
  const controller = new AbortController();
  try {
    const model = languageModel(endpoint, request.model, guardedFetch(endpoint.fetch));
    const options = { ...callOptions(request, endpoint.kind), abortSignal: controller.signal };
    const { stream } = await until(model.doStream(options), signal);
    return await readAnswer(stream, request, io);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(error, endpoint, request.model);
  } finally {
    controller.abort();
  }
}

function callOptions(request: ModelRequest, kind: RemoteKind): LanguageModelV4CallOptions {
  const options: LanguageModelV4CallOptions = {
    prompt: promptOf(request, kind),
    ...reasoningOptions(request, kind),
  };
  if (request.tools.length > 0) {
    const tools = request.tools.map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description,
      inputSchema: tool.inputSchema as JSONSchema7,
    }));
    if (kind === 'anthropic' && request.system === '') cacheTools(tools);
    options.tools = tools;
    options.toolChoice = { type: request.toolChoice };
  }
  if (request.answerSchema && takesSchema(request, kind)) {
    options.responseFormat = { type: 'json', name: 'answer', schema: request.answerSchema as JSONSchema7 };
  }
  if (kind === 'openai') {
    // Nothing of a conversation stays at OpenAI: the thread is here. Schemas are sent as their authors wrote them.
    // With `store: false` the package asks reasoning models for their thoughts, encrypted.
    options.providerOptions = { openai: { store: false, strictJsonSchema: false } };
  }
  return options;
}

/**
 * Everywhere else the prompt must do. OpenAI takes objects only. The package of Anthropic makes a tool of the schema for models
 * that take none, and forces its use, which is refused beside reasoning. Servers that speak as OpenAI does take a schema,
 * or JSON without one, or refuse both.
 */
function takesSchema({ answerSchema, reasoningEffort }: ModelRequest, kind: RemoteKind): boolean {
  if (kind === 'openai') return answerSchema!.type === 'object';
  return kind === 'anthropic' && reasoningEffort === undefined;
}
