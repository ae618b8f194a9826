import type { Prompt } from '@troupe/protocol';
import type { PastRequest } from '../../kernel/index.ts';

export function presentPrompt({ request, provider, agentKey, changed }: PastRequest): Prompt {
  const { runId, step, model, system, messages, tools, toolChoice, maxOutputTokens } = request;
  const { reasoningEffort = null, answerSchema = null } = request;
  return {
    ...{ runId, step, provider, model, agentKey, system },
    messages: messages as Prompt['messages'],
    tools,
    settings: { toolChoice, maxOutputTokens, reasoningEffort, answerSchema },
    exact: changed.length === 0,
    why: changed,
  };
}
