import type { Api } from '@troupe/sdk';

export const kindWords: Record<Api.ProviderKind, { name: string; about: string; models: string[] }> = {
  openai: {
    name: 'OpenAI',
    about: 'With a key from platform.openai.com.',
    models: ['gpt-5', 'gpt-5-mini', 'gpt-4.1'],
  },
  anthropic: {
    name: 'Anthropic',
    about: 'With a key from console.anthropic.com.',
    models: ['claude-sonnet-4-5', 'claude-opus-4-5', 'claude-haiku-4-5'],
  },
  openai_compatible: {
    name: 'OpenAI-compatible',
    about: 'Anything that speaks Chat Completions: Ollama, vLLM, LM Studio, OpenRouter.',
    models: ['llama3.3:70b', 'mistral-small'],
  },
  demo: { name: 'Demo', about: 'Rules in this process; no key.', models: ['demo'] },
};
