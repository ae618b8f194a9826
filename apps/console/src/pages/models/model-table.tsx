import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Table } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { formatNumber } from '../../data/format.ts';

export function ModelTable({
  provider,
  models,
  onEdit,
  onChanged,
}: {
  provider: Api.Provider;
  models: Api.Model[];
  onEdit: (model: Api.Model) => void;
  onChanged: () => void;
}) {
  const [gone, setGone] = useState<Api.Model | null>(null);
  const change = useMutation({
    mutationFn: ({ id, status }: Pick<Api.Model, 'id' | 'status'>) =>
      troupe.models.updateModel({ params: { modelId: id }, body: { status } }),
    onSuccess: onChanged,
    onError: sayError,
  });
  if (models.length === 0)
    return <p className="p-4 text-sm text-muted">No models yet. Add one to use this provider.</p>;
  return (
    <>
      <Table
        label={`Models of ${provider.name}`}
        items={models}
        keyOf={(model) => model.id}
        columns={[
          {
            name: 'Model',
            cellClass: 'max-w-72 min-w-40',
            cell: (model) => (
              <>
                <p className="flex min-w-0 items-center gap-2">
                  <span className="truncate font-medium" title={model.displayName}>
                    {model.displayName}
                  </span>
                  {model.isDefault && <Tag tone="accent">default</Tag>}
                  {model.status === 'disabled' && <Tag tone="warn">disabled</Tag>}
                </p>
                {model.displayName !== model.modelId && (
                  <p className="truncate font-mono text-xs text-muted">{model.modelId}</p>
                )}
              </>
            ),
          },
          { name: 'Price in', isRight: true, cell: (model) => model.inputPrice || '–' },
          { name: 'Price out', isRight: true, cell: (model) => model.outputPrice || '–' },
          {
            name: 'Reads',
            isRight: true,
            cell: (model) => (model.contextTokens === null ? '–' : formatNumber(model.contextTokens)),
          },
          { name: 'Writes', isRight: true, cell: (model) => formatNumber(model.maxOutputTokens) },
          {
            name: 'Actions',
            isAction: true,
            cell: (model) => (
              <span className="flex items-center justify-end">
                <Button
                  size="small"
                  kind="quiet"
                  busy={change.isPending && change.variables.id === model.id}
                  aria-label={`${model.status === 'active' ? 'Disable' : 'Enable'} ${model.displayName}`}
                  onClick={() =>
                    change.mutate({
                      id: model.id,
                      status: model.status === 'active' ? 'disabled' : 'active',
                    })
                  }
                >
                  {model.status === 'active' ? 'Disable' : 'Enable'}
                </Button>
                <IconButton label={`Edit ${model.displayName}`} icon={Pencil} onClick={() => onEdit(model)} />
                <IconButton
                  label={`Delete ${model.displayName}`}
                  icon={Trash2}
                  onClick={() => setGone(model)}
                />
              </span>
            ),
          },
        ]}
      />
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={`Delete model ${gone?.displayName}?`}
        label="Delete model"
        act={async () => {
          await troupe.models.deleteModel({ params: { modelId: gone!.id } });
          onChanged();
        }}
      >
        The default model, and a model that an agent or a session uses, cannot be deleted: choose another one
        there first, or disable it.
      </Confirm>
    </>
  );
}
