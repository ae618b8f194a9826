import type { Model, Provider } from '@troupe/protocol';
import { hasKey, type Keys } from '../../definitions/models/index.ts';
import type { ModelRow, ProviderRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentModel(row: ModelRow): Model {
  return isoTimes({
    id: row.id,
    providerId: row.provider_id,
    modelId: row.model_id,
    displayName: row.display_name,
    inputPrice: row.input_price,
    outputPrice: row.output_price,
    contextTokens: row.context_tokens,
    maxOutputTokens: row.max_output_tokens,
    imageInput: row.image_input,
    isDefault: row.is_default,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}

export function presentProvider(row: ProviderRow, keys: Keys): Provider {
  return isoTimes({
    id: row.id,
    kind: row.kind,
    name: row.name,
    baseUrl: row.base_url,
    keySet: hasKey(row, keys),
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}
