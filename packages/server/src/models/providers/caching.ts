import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';

// Anthropic caches what it is told to cache: everything up to a mark, in the order tools, system prompt, messages. The next
// step of the run begins with all that this one sent, so the end is marked; the next run of the agent shares tools and
// system prompt at least, so these are. OpenAI does so by itself.

const MARK = { anthropic: { cacheControl: { type: 'ephemeral' as const } } };

/** Marks the system prompt and the last message. */
export function cacheUpTo(prompt: LanguageModelV4Prompt): void {
  const [first] = prompt;
  const last = prompt.at(-1);
  if (first?.role === 'system') first.providerOptions = MARK;
  if (last && last !== first) last.providerOptions = MARK;
}

/** Marks the last tool: for agents without a system prompt, whose mark would hold the tools as well. */
export function cacheTools(tools: LanguageModelV4FunctionTool[]): void {
  const last = tools.at(-1);
  if (last) last.providerOptions = MARK;
}
