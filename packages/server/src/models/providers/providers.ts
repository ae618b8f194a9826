import type { ProviderKind } from '@troupe/protocol';
import { PromiseCache, RetryableError, TroupeError } from '../../base/index.ts';
import type { Model, ModelAnswer, ModelIo, ModelRequest, Models } from '../../kernel/ports.ts';
import { createModels, type ModelProvider } from '../registry.ts';
import { until } from '../waits.ts';
import type { Endpoint } from './endpoint.ts';
import { maxInputTokens } from './size.ts';

export interface ProviderRecord {
  id: string;
  kind: ProviderKind;
  baseUrl: string | null;
  apiKey: string | null;
  status: 'active' | 'disabled';
  /** The key of the environment is for the operator's project: rows of others never spend it. */
  ofOperator?: boolean;
  /** The project whose guard its address must pass; absent or null: none. */
  guardedFor?: string | null;
}

export interface ProviderSource {
  /** Null where there is none. */
  load(id: string): Promise<ProviderRecord | null>;
}

export interface ProviderKeys {
  openai: string | null;
  anthropic: string | null;
}

export interface ProvidersOptions {
  /** Models that need no row, by the name that snapshots give as `provider`. */
  named?: Record<string, ModelProvider>;
  /** From the environment: for `openai` and `anthropic` in snapshots, and for rows without a key of their own. */
  keys?: ProviderKeys;
  /** Where the keys of the environment are sent instead of the providers' own addresses. */
  addresses?: ProviderKeys;
  /** For addresses that somebody else than the operator chose; without it, they are not called. */
  fetchFor?: (project: string) => typeof globalThis.fetch;
  /** For how long a row may be used without looking again. */
  cacheMs?: number;
}

const MAX_CACHED = 1_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NO_KEYS: ProviderKeys = { openai: null, anthropic: null };

/** A snapshot names a provider by the id of its row, or by a name that this process knows. */
export function createProviders(source: ProviderSource, options: ProvidersOptions = {}): Models {
  const { named = {}, keys = NO_KEYS, addresses = NO_KEYS, fetchFor, cacheMs = 5_000 } = options;
  const environment = { keys, addresses };
  const byName = createModels({
    ...named,
    openai: fromEnvironment('openai', environment),
    anthropic: fromEnvironment('anthropic', environment),
  });
  const load = cached(source, cacheMs);
  return {
    resolve(choice) {
      if (!UUID.test(choice.provider)) return byName.resolve(choice);
      const { provider: id, model } = choice;
      const called: Model = {
        // An id would make a series of its own for every provider there is.
        kind: 'unknown',
        maxInputTokens,
        async generate(request, io) {
          const row = usable(await until(load(id), io.signal), id, model);
          called.kind = row.kind;
          if (row.kind === 'demo')
            return byName.resolve({ ...choice, provider: 'demo' }).generate(request, io);
          const endpoint = endpointOf({ ...row, kind: row.kind }, environment);
          if (!row.guardedFor) return call(endpoint, request, io);
          if (!fetchFor) throw unguarded(model);
          return call({ ...endpoint, fetch: fetchFor(row.guardedFor) }, request, io);
        },
      };
      return called;
    },
  };
}

interface FromEnvironment {
  keys: ProviderKeys;
  addresses: ProviderKeys;
}

function fromEnvironment(kind: keyof ProviderKeys, { keys, addresses }: FromEnvironment): ModelProvider {
  const apiKey = keys[kind];
  const endpoint: Endpoint = { kind, baseUrl: addresses[kind], apiKey };
  const remote: Model = { maxInputTokens, generate: (request, io) => call(endpoint, request, io) };
  return (model) => {
    if (apiKey) return remote;
    throw new TroupeError(
      'unknown_model',
      `The model "${model}" cannot be used: there is no key for ${kind}.`,
      {
        hint: `Set ${kind.toUpperCase()}_API_KEY, or add a provider with a key of its own.`,
        details: { provider: kind, model },
      },
    );
  };
}

/** The key of the environment goes where the operator says, for rows of the operator's project that name neither key nor address. */
function endpointOf(
  { kind, baseUrl, apiKey, ofOperator }: ProviderRecord & { kind: Endpoint['kind'] },
  { keys, addresses }: FromEnvironment,
): Endpoint {
  if (kind === 'openai_compatible' || baseUrl !== null || apiKey !== null || !ofOperator) {
    return { kind, baseUrl, apiKey };
  }
  return { kind, baseUrl: addresses[kind], apiKey: keys[kind] };
}

function unguarded(model: string): TroupeError {
  return new TroupeError(
    'provider_unguarded',
    `The model "${model}" cannot be used: this process calls no addresses that projects choose.`,
  );
}

function usable(row: ProviderRecord | null, id: string, model: string): ProviderRecord {
  const details = { provider: id, model };
  if (!row) {
    throw new TroupeError('unknown_model', `The model "${model}" cannot be used: its provider is gone.`, {
      hint: 'Give the agent a model of a provider that exists.',
      details,
    });
  }
  if (row.status !== 'active') {
    throw new TroupeError(
      'provider_disabled',
      `The model "${model}" cannot be used: its provider is disabled.`,
      {
        hint: 'Enable the provider, or give the agent another model.',
        details,
      },
    );
  }
  return row;
}

/** Rows are read at most once in a while, by all calls together; a failed read is not kept. */
function cached(source: ProviderSource, cacheMs: number): ProviderSource['load'] {
  const rows = new PromiseCache<ProviderRecord | null>({ max: MAX_CACHED, ttlMs: cacheMs });
  const load = (id: string) =>
    source.load(id).catch((error: unknown) => {
      if (error instanceof TroupeError) throw error;
      throw new RetryableError('provider_unavailable', 'The provider of this model could not be read.', {
        cause: error,
      });
    });
  return (id) => rows.get(id, () => load(id));
}

/** The packages of the providers take 0.3 s and 30 MB to load: only who calls one pays for them. */
async function call(endpoint: Endpoint, request: ModelRequest, io: ModelIo): Promise<ModelAnswer> {
  const loaded = await import('./call.ts');
  return loaded.call(endpoint, request, io);
}
