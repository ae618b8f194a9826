import { getModelCapabilities } from '@ai-sdk/anthropic/internal';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ReasoningEffort } from '@troupe/protocol';
import type { ModelRequest } from '../../kernel/ports.ts';
import type { RemoteKind } from './endpoint.ts';

type Options = Pick<LanguageModelV4CallOptions, 'maxOutputTokens' | 'reasoning' | 'providerOptions'>;

const SHARES: Record<Exclude<ReasoningEffort, 'none'>, number> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.4,
  high: 0.6,
};
const LEAST_BUDGET = 1024; // Anthropic accepts no smaller one

/** The effort in each provider's own words, never beyond the request's output tokens: budgets rest on them. */
export function reasoningOptions(request: ModelRequest, kind: RemoteKind): Options {
  const { reasoningEffort: effort, maxOutputTokens } = request;
  if (effort === undefined) return { maxOutputTokens };
  const budgeted = kind === 'anthropic' && effort !== 'none' && hasBudget(request.model);
  return budgeted ? withBudget(request, SHARES[effort]) : { maxOutputTokens, reasoning: effort };
}

function hasBudget(model: string): boolean {
  return !getModelCapabilities(model).supportsAdaptiveThinking;
}

/**
 * Older Claude models think within a number of tokens, which the package would add to the limit. They also refuse to
 * think on after a tool's result unless their earlier thoughts come back signed; where these are not there, because
 * another model made the call, they go on without thinking.
 */
function withBudget(request: ModelRequest, share: number): Options {
  const { maxOutputTokens, messages } = request;
  const last = messages.findLast((message) => message.role === 'assistant');
  const forgotten = last !== undefined && last.calls.length > 0 && last.reasoningParts === undefined;
  const budgetTokens = Math.max(LEAST_BUDGET, Math.floor(maxOutputTokens * share));
  if (budgetTokens >= maxOutputTokens || forgotten) return { maxOutputTokens };
  return {
    maxOutputTokens: maxOutputTokens - budgetTokens,
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens } } },
  };
}
