import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
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
  if (models.length === 0) return <p className="p-4 text-sm text-muted">It has no model yet. Add one.</p>;
  return (
    <>
      <Table
        label={`Models of ${provider.name}`}
        head={
          <>
            <Th>Model</Th>
            <Th className="text-right">Price in</Th>
            <Th className="text-right">Price out</Th>
            <Th className="text-right">Reads</Th>
            <Th className="text-right">Writes</Th>
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          </>
        }
      >
        {models.map((model) => (
          <Tr key={model.id}>
            <Td className="max-w-72 min-w-40">
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
            </Td>
            <Td label="Price in" className="text-right tabular-nums">
              {model.inputPrice || '–'}
            </Td>
            <Td label="Price out" className="text-right tabular-nums">
              {model.outputPrice || '–'}
            </Td>
            <Td label="Reads" className="text-right tabular-nums">
              {model.contextTokens === null ? '–' : formatNumber(model.contextTokens)}
            </Td>
            <Td label="Writes" className="text-right tabular-nums">
              {formatNumber(model.maxOutputTokens)}
            </Td>
            <Td className="w-px">
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
                <Button
                  kind="quiet"
                  size="small-icon"
                  aria-label={`Edit ${model.displayName}`}
                  icon={<Pencil size={14} />}
                  onClick={() => onEdit(model)}
                />
                <Button
                  kind="quiet"
                  size="small-icon"
                  aria-label={`Delete ${model.displayName}`}
                  icon={<Trash2 size={14} />}
                  onClick={() => setGone(model)}
                />
              </span>
            </Td>
          </Tr>
        ))}
      </Table>
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={`Delete ${gone?.displayName}?`}
        label="Delete"
        act={async () => {
          await troupe.models.deleteModel({ params: { modelId: gone!.id } });
          onChanged();
        }}
      >
        A model that an agent or a session names, or that is the default, cannot be deleted: disable it, or
        choose another there first.
      </Confirm>
    </>
  );
}
