import { z } from 'zod';
import { id, listQuery, name, page, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

export const providerKind = z.enum(['openai', 'anthropic', 'openai_compatible', 'demo']);
export type ProviderKind = z.infer<typeof providerKind>;

export const provider = z.object({
  id,
  kind: providerKind,
  name,
  baseUrl: z
    .string()
    .nullable()
    .describe(
      'What comes before `/chat/completions` and the like. Null: the address of the provider itself.',
    ),
  keySet: z
    .boolean()
    .describe(
      'Whether there is a key: in the row, or in the environment where `baseUrl` is null. It is never shown.',
    ),
  status: z.enum(['active', 'disabled']).describe('A disabled one is not called.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Provider = z.infer<typeof provider>;

/** Without a name and a password in it: addresses are shown, keys are not. */
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .max(2000)
  .refine((text) => {
    if (!URL.canParse(text)) return true; // told above
    const { username, password } = new URL(text);
    return username === '' && password === '';
  }, 'must not carry a name or a password; give the key as apiKey');

export const newProvider = z.strictObject({
  kind: providerKind,
  name,
  baseUrl: baseUrl.nullable().describe('Needed for `openai_compatible`.').default(null),
  apiKey: z
    .string()
    .min(1)
    .max(4000)
    .nullable()
    .describe(
      'Encrypted at rest and never shown. Null: the one of the environment, where `baseUrl` is null too.',
    )
    .default(null),
});
export type NewProvider = z.infer<typeof newProvider>;

export const providerPatch = z.strictObject({
  name: name.optional(),
  baseUrl: newProvider.shape.baseUrl.removeDefault().optional(),
  apiKey: newProvider.shape.apiKey.removeDefault().optional(),
  status: provider.shape.status.optional(),
});
export type ProviderPatch = z.infer<typeof providerPatch>;

const imageInputMeaning =
  'Whether it accepts images. Null: the default of its provider. Models of OpenAI and Anthropic accept them; a compatible server gets images of people, but not of tools. An image that is not sent is replaced by a text placeholder.';

/** Prices in currency units per million tokens. */
export const model = z.object({
  id,
  providerId: id,
  modelId: z.string().describe('What the provider calls it.'),
  displayName: z.string().describe('What people call it.'),
  inputPrice: z.number().nonnegative().describe('In currency units per million tokens.'),
  outputPrice: z.number().nonnegative().describe('In currency units per million tokens.'),
  contextTokens: z
    .number()
    .int()
    .positive()
    .nullable()
    .describe('What it reads at once, its answer included. Null: not known, 128,000 are assumed.'),
  maxOutputTokens: z.number().int().positive().describe('The longest answer that is asked for.'),
  imageInput: z.boolean().nullable().describe(imageInputMeaning),
  isDefault: z
    .boolean()
    .describe('The model of the project where neither message nor session nor agent names one.'),
  status: z.enum(['active', 'disabled']).describe('A disabled one is not called.'),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Model = z.infer<typeof model>;

const modelFields = {
  displayName: name.describe('What people call it. Default: what the provider calls it.'),
  inputPrice: z.number().nonnegative().max(1e6).describe('In currency units per million tokens.'),
  outputPrice: z.number().nonnegative().max(1e6).describe('In currency units per million tokens.'),
  contextTokens: z
    .number()
    .int()
    .positive()
    .max(1e9)
    .nullable()
    .describe('What it reads at once, its answer included. Null: not known, 128,000 are assumed.'),
  maxOutputTokens: z.number().int().positive().max(1e7).describe('The longest answer that is asked for.'),
  imageInput: z.boolean().nullable().describe(imageInputMeaning),
  isDefault: z
    .boolean()
    .describe('True makes it the model of the project, in the place of the one that was.'),
};

export const newModel = z.strictObject({
  modelId: z.string().trim().min(1).max(200).describe('What the provider calls it.'),
  displayName: modelFields.displayName.optional(),
  inputPrice: modelFields.inputPrice.default(0),
  outputPrice: modelFields.outputPrice.default(0),
  contextTokens: modelFields.contextTokens.default(null),
  maxOutputTokens: modelFields.maxOutputTokens.default(4096),
  imageInput: modelFields.imageInput.default(null),
  isDefault: modelFields.isDefault.default(false),
});
export type NewModel = z.infer<typeof newModel>;

export const modelPatch = z.strictObject({
  displayName: modelFields.displayName.optional(),
  inputPrice: modelFields.inputPrice.optional(),
  outputPrice: modelFields.outputPrice.optional(),
  contextTokens: modelFields.contextTokens.optional(),
  maxOutputTokens: modelFields.maxOutputTokens.optional(),
  imageInput: modelFields.imageInput.optional(),
  isDefault: modelFields.isDefault.optional(),
  status: model.shape.status.optional(),
});
export type ModelPatch = z.infer<typeof modelPatch>;

const providerParams = z.object({ providerId: id });
const modelParams = z.object({ modelId: id });

export const modelEndpoints = {
  createProvider: endpoint({
    method: 'POST',
    path: '/v1/providers',
    tag: 'models',
    summary: 'Add a provider of models',
    scope: 'models:write',
    body: newProvider,
    status: 201,
    response: provider,
    problems: ['name_taken', 'no_encryption_key', 'base_url_required'],
  }),
  listProviders: endpoint({
    method: 'GET',
    path: '/v1/providers',
    tag: 'models',
    summary: 'All providers',
    scope: 'models:read',
    query: listQuery,
    status: 200,
    response: page(provider),
  }),
  getProvider: endpoint({
    method: 'GET',
    path: '/v1/providers/{providerId}',
    tag: 'models',
    summary: 'One provider',
    scope: 'models:read',
    params: providerParams,
    status: 200,
    response: provider,
  }),
  updateProvider: endpoint({
    method: 'PATCH',
    path: '/v1/providers/{providerId}',
    tag: 'models',
    summary: 'Change a provider; a key that is set to null is removed',
    scope: 'models:write',
    params: providerParams,
    body: providerPatch,
    status: 200,
    response: provider,
    problems: ['name_taken', 'no_encryption_key', 'base_url_required', 'key_required'],
  }),
  deleteProvider: endpoint({
    method: 'DELETE',
    path: '/v1/providers/{providerId}',
    tag: 'models',
    summary: 'Delete a provider that no model belongs to',
    scope: 'models:write',
    params: providerParams,
    status: 204,
    problems: ['in_use'],
  }),
  createModel: endpoint({
    method: 'POST',
    path: '/v1/providers/{providerId}/models',
    tag: 'models',
    summary: 'Add a model of a provider',
    scope: 'models:write',
    params: providerParams,
    body: newModel,
    status: 201,
    response: model,
    problems: ['model_taken'],
  }),
  listModels: endpoint({
    method: 'GET',
    path: '/v1/models',
    tag: 'models',
    summary: 'All models',
    scope: 'models:read',
    query: listQuery.extend({ providerId: id.optional() }),
    status: 200,
    response: page(model),
  }),
  getModel: endpoint({
    method: 'GET',
    path: '/v1/models/{modelId}',
    tag: 'models',
    summary: 'One model',
    scope: 'models:read',
    params: modelParams,
    status: 200,
    response: model,
  }),
  updateModel: endpoint({
    method: 'PATCH',
    path: '/v1/models/{modelId}',
    tag: 'models',
    summary: 'Change a model; isDefault: true takes it from the one that had it',
    scope: 'models:write',
    params: modelParams,
    body: modelPatch,
    status: 200,
    response: model,
  }),
  deleteModel: endpoint({
    method: 'DELETE',
    path: '/v1/models/{modelId}',
    tag: 'models',
    summary: 'Delete a model that no agent and no session names',
    scope: 'models:write',
    params: modelParams,
    status: 204,
    problems: ['in_use'],
  }),
} as const;
