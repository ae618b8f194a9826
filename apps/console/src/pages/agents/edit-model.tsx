import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { X } from 'lucide-react';
import { IconButton } from '../../blocks/button.tsx';
import { SelectField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Sortable } from '../../blocks/sortable.tsx';
import { modelsQuery, providersQuery } from '../../data/queries.ts';
import { systemQuery } from '../../shell/system.ts';
import type { PartProps } from './edit-tab.tsx';

export function EditModel({ draft, change }: PartProps) {
  const models = useQuery(modelsQuery).data ?? [];
  const providers = useQuery(providersQuery).data ?? [];
  const isDemo = useQuery(systemQuery).data?.demo ?? false;
  const nameOf = (model: Api.Model) =>
    `${model.displayName} (${providers.find(({ id }) => id === model.providerId)?.name ?? '…'})${
      model.status === 'disabled' ? ', disabled' : ''
    }`;
  const known = (id: string) => {
    const model = models.find((one) => one.id === id);
    return model ? nameOf(model) : id;
  };
  const standard = models.find(({ isDefault }) => isDefault);
  const ofProject = isDemo ? 'the demo model' : (standard?.displayName ?? 'as set in the project');
  const free = models.filter(
    ({ id, status }) =>
      status === 'active' && id !== draft.defaultModelId && !draft.fallbackModelIds.includes(id),
  );
  return (
    <Card
      title="Model"
      actions={
        <Link to="/models" className="text-xs text-muted hover:text-text hover:underline">
          Providers and models
        </Link>
      }
    >
      <div className="grid gap-4 md:grid-cols-2">
        <SelectField
          label="Model"
          path="defaultModelId"
          first={`Default of the project: ${ofProject}`}
          value={draft.defaultModelId ?? ''}
          onChange={(modelId) => change({ defaultModelId: modelId || null })}
          options={models.map((model) => [model.id, nameOf(model)])}
        />
        <div className="flex min-w-0 flex-col gap-2">
          <SelectField
            label="Where it fails, try"
            hint="In this order."
            path="fallbackModelIds"
            disabled={free.length === 0 || draft.fallbackModelIds.length >= 8}
            value={'' as string}
            onChange={(value) => change({ fallbackModelIds: [...draft.fallbackModelIds, value] })}
            first={free.length === 0 ? 'No other model' : 'Add a model…'}
            options={free.map((model) => [model.id, nameOf(model)])}
          />
          {draft.fallbackModelIds.length > 0 && (
            <Sortable
              label="Models to fall back to"
              items={draft.fallbackModelIds}
              keyOf={(id) => id}
              nameOf={known}
              onOrder={(fallbackModelIds) => change({ fallbackModelIds })}
            >
              {(id) => (
                <div className="flex items-center gap-2 text-sm">
                  <span className="min-w-0 flex-1 truncate">{known(id)}</span>
                  <IconButton
                    label={`Remove ${known(id)}`}
                    icon={X}
                    onClick={() =>
                      change({ fallbackModelIds: draft.fallbackModelIds.filter((one) => one !== id) })
                    }
                  />
                </div>
              )}
            </Sortable>
          )}
        </div>
      </div>
    </Card>
  );
}
