import type { Troupe } from '@troupe/sdk';

/** Registers the double as a model of the project; returns its id. */
export async function addDouble(troupe: Troupe, url: string, contextTokens: number): Promise<string> {
  const provider = await troupe.models.createProvider({
    body: { kind: 'openai_compatible', name: 'Double', baseUrl: url },
  });
  const model = await troupe.models.createModel({
    params: { providerId: provider.id },
    body: { modelId: 'double', contextTokens, maxOutputTokens: 2_000 },
  });
  return model.id;
}
