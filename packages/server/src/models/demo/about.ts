import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';
import { toolList } from './tool-list.ts';

const WHO =
  /\b(?:(?:who|what)(?:'s| are| is|re|'re) (?:you|this)\b|are you (?:an? )?(?:real|ai|a\.i\.|bot|human|robot|person|language model|llm|gpt|chatgpt|claude|demo)|(?:what|which) (?:language )?model\b|tell me about yourself|introduce yourself)/i;
const TOOLS = /\b(?:what|which|list)\b.{0,30}\btools\b/i;

export function about({ heard, request }: Situation): Reply | undefined {
  if (!heard) return undefined;
  if (TOOLS.test(heard.plain)) return { say: toolList(request.tools) };
  if (!WHO.test(heard.plain)) return undefined;
  return {
    say:
      "I am Troupe's demo model: a few rules written by hand, not a language model, so I need no key. " +
      'To talk to a real model, add a model provider with its key (OpenAI, Anthropic or any OpenAI-compatible ' +
      'server) and choose one of its models for this agent.',
  };
}
