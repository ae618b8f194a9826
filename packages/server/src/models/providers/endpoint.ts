import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { TroupeError } from '../../base/index.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

export type RemoteKind = 'openai' | 'anthropic' | 'openai_compatible';

/** Where a model is called, and with which key. */
export interface Endpoint {
  kind: RemoteKind;
  baseUrl: string | null;
  apiKey: string | null;
  /** Absent: the address was not somebody else's choice. */
  fetch?: typeof globalThis.fetch;
}

const OWN = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  openai_compatible: null,
};

/**
 * Address and key are always given: where one is left out, the packages read it from the environment themselves.
 *
 * OpenAI is called through its Responses API, because its reasoning models refuse tools together with a reasoning
 * effort on Chat Completions. Whoever needs Chat Completions takes `openai_compatible`.
 */
export function languageModel(endpoint: Endpoint, model: string, fetch: GuardedFetch): LanguageModelV4 {
  const apiKey = checkedKey(endpoint);
  const baseURL = checkedUrl(endpoint);
  switch (endpoint.kind) {
    case 'openai':
      return createOpenAI({ baseURL, apiKey, fetch }).responses(model);
    case 'anthropic':
      return createAnthropic({ baseURL, apiKey, fetch }).messages(model);
    case 'openai_compatible':
      return createOpenAICompatible({
        name: 'compatible',
        baseURL,
        includeUsage: true,
        fetch,
        ...(apiKey === '' ? {} : { apiKey }),
      }).chatModel(model);
  }
}

/** How the provider is called in sentences for people. */
export function nameOf({ kind, baseUrl }: Endpoint): string {
  const own = kind === 'openai' ? 'OpenAI' : kind === 'anthropic' ? 'Anthropic' : 'The provider';
  return baseUrl !== null && URL.canParse(baseUrl) ? `${own} at ${new URL(baseUrl).host}` : own;
}

/** What `fetch` would refuse is refused here: its own message shows the address or the key. */
function checkedUrl({ kind, baseUrl }: Endpoint): string {
  const text = baseUrl ?? OWN[kind];
  const url = text !== null && URL.canParse(text) ? new URL(text) : null;
  if (text !== null && url && /^https?:$/.test(url.protocol) && url.username + url.password === '')
    return text;
  throw new TroupeError('base_url_required', 'The provider of this model has no base URL that can be used.', {
    hint: 'Set its baseUrl to an http or https address without a password, such as http://localhost:11434/v1.',
  });
}

function checkedKey(endpoint: Endpoint): string {
  const key = endpoint.apiKey ?? '';
  if (key === '' ? endpoint.kind === 'openai_compatible' : /^[!-~]+$/.test(key)) return key;
  const why = key === '' ? 'there is no API key for it' : 'its API key holds characters that no key has';
  throw new TroupeError('model_auth', `${nameOf(endpoint)} cannot be called: ${why}.`, {
    hint: 'Set the apiKey of the provider, or OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment.',
  });
}
