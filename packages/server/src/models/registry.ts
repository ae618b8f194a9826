import { TroupeError } from '../base/index.ts';
import type { Model, Models } from '../kernel/ports.ts';

/** Makes the model of that name; called at every resolve, so it must be cheap. */
export type ModelProvider = (modelName: string) => Model;

/** Keyed by what snapshots name as `provider`. Prototype names such as `constructor` are not providers. */
export function createModels(providers: Record<string, ModelProvider>): Models {
  const known = new Map(Object.entries(providers));
  return {
    resolve({ provider, model }) {
      const make = known.get(provider);
      if (!make) throw unknownProvider(provider, model, [...known.keys()]);
      return make(model);
    },
  };
}

function unknownProvider(provider: string, model: string, known: string[]): TroupeError {
  return new TroupeError(
    'unknown_model',
    `The model "${model}" cannot be used: this process has no model provider called "${provider}".`,
    {
      hint: known.length > 0 ? `Known providers: ${known.join(', ')}.` : 'No provider is configured.',
      details: { provider, model, known },
    },
  );
}
