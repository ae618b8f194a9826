import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { X } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { Field, Select } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Sortable } from '../../blocks/sortable.tsx';
import { issueAt } from '../../data/issues.ts';
import { systemQuery } from '../../shell/system.ts';
import type { PartProps } from './edit-tab.tsx';
import { modelsQuery, providersQuery } from './queries.ts';

export function EditModel({ draft, change, error }: PartProps) {
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
        <Field label="Model" error={issueAt(error, 'defaultModelId')}>
          {(ids) => (
            <Select
              {...ids}
              value={draft.defaultModelId ?? ''}
              onChange={({ target }) => change({ defaultModelId: target.value || null })}
            >
              <option value="">The project's default: {ofProject}</option>
              {draft.defaultModelId && !models.some(({ id }) => id === draft.defaultModelId) && (
                <option value={draft.defaultModelId}>{draft.defaultModelId}</option>
              )}
              {models.map((model) => (
                <option key={model.id} value={model.id}>
                  {nameOf(model)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <div className="flex min-w-0 flex-col gap-2">
          <Field label="Where it fails, try" hint="In this order." error={issueAt(error, 'fallbackModelIds')}>
            {(ids) => (
              <Select
                {...ids}
                value=""
                disabled={free.length === 0 || draft.fallbackModelIds.length >= 8}
                onChange={({ target }) =>
                  change({ fallbackModelIds: [...draft.fallbackModelIds, target.value] })
                }
              >
                <option value="">{free.length === 0 ? 'No other model' : 'Add a model…'}</option>
                {free.map((model) => (
                  <option key={model.id} value={model.id}>
                    {nameOf(model)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
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
                  <Button
                    kind="quiet"
                    size="small-icon"
                    aria-label={`Remove ${known(id)}`}
                    icon={<X size={14} />}
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
