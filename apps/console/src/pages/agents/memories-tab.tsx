import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Brain, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm, Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, TextArea } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Failure, Loading, Notice } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { useLive } from '../../data/live.ts';
import { given } from '../../data/search-values.ts';
import { useWhose, Whose } from './whose.tsx';

const route = getRouteApi('/agents/$agentId');

/** What the agent remembers: for all, or of one person. */
export default function MemoriesTab({ agentId }: { agentId: string }) {
  const { search } = route.useSearch();
  const navigate = route.useNavigate();
  const whose = useWhose();
  const client = useQueryClient();
  const [edited, setEdited] = useState<Api.Memory | 'new' | null>(null);
  const [forgotten, setForgotten] = useState<string | null>(null);
  useLive('memories');
  const list = useCursorPages(['memories', agentId, whose, search], (page) =>
    troupe.memories.list({
      params: { agentId },
      query: { ...page, ...whose, ...(search ? { search } : {}) },
    }),
  );
  const add = (
    <Button kind="primary" icon={<Plus size={14} aria-hidden="true" />} onClick={() => setEdited('new')}>
      Add a memory
    </Button>
  );
  return (
    <div className="flex max-w-5xl flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <Whose />
        <SearchBox
          label="Search memories"
          value={search ?? ''}
          onSearch={(text) =>
            void navigate({ search: (now) => given({ ...now, search: text || undefined }), replace: true })
          }
          className="w-64 max-w-full"
        />
        <span className="flex-1" />
        {add}
      </div>
      <Card flush>
        {list.items === undefined ? (
          list.error ? (
            <Failure error={list.error} retry={list.refetch} />
          ) : (
            <Loading />
          )
        ) : list.items.length === 0 ? (
          search ? (
            <Empty title="No memory has this word" />
          ) : (
            <Empty icon={<Brain size={20} aria-hidden="true" />} title="Nothing is remembered">
              An agent with the capability Memory writes down what is worth knowing. You can add to it.
            </Empty>
          )
        ) : (
          <>
            <Table
              label="Memories"
              head={
                <>
                  <Th>Key</Th>
                  <Th>Value</Th>
                  <Th>Changed</Th>
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                </>
              }
            >
              {list.items.map((memory) => (
                <Tr key={memory.key}>
                  <Td className="max-w-48 truncate align-top font-medium" title={memory.key}>
                    {memory.key}
                  </Td>
                  <Td label="Value" className="max-w-xl align-top">
                    <p className="line-clamp-3 break-words whitespace-pre-wrap">{memory.value}</p>
                  </Td>
                  <Td label="Changed" className="align-top text-muted">
                    <When value={memory.updatedAt} />
                  </Td>
                  <Td className="w-px align-top whitespace-nowrap">
                    <Button
                      kind="quiet"
                      size="small-icon"
                      aria-label={`Edit ${memory.key}`}
                      icon={<Pencil size={14} />}
                      onClick={() => setEdited(memory)}
                    />
                    <Button
                      kind="quiet"
                      size="small-icon"
                      aria-label={`Forget ${memory.key}`}
                      icon={<Trash2 size={14} />}
                      onClick={() => setForgotten(memory.key)}
                    />
                  </Td>
                </Tr>
              ))}
            </Table>
            <MoreButton list={list} />
          </>
        )}
      </Card>
      {edited && (
        <EditMemory
          agentId={agentId}
          whose={whose}
          memory={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
        />
      )}
      <Confirm
        open={forgotten !== null}
        onClose={() => setForgotten(null)}
        title={`Forget “${forgotten}”?`}
        label="Forget"
        act={async () => {
          await troupe.memories.remove({ params: { agentId, key: forgotten! }, query: whose });
          await client.invalidateQueries({ queryKey: ['memories'] });
        }}
      >
        The agent no longer knows it, from its next step on.
      </Confirm>
    </div>
  );
}

function EditMemory({
  agentId,
  whose,
  memory,
  onClose,
}: {
  agentId: string;
  whose: { user?: string };
  memory: Api.Memory | null;
  onClose: () => void;
}) {
  const [key, setKey] = useState(memory?.key ?? '');
  const [value, setValue] = useState(memory?.value ?? '');
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      troupe.memories.set({ params: { agentId, key: key.trim() }, query: whose, body: { value } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['memories'] });
      onClose();
    },
  });
  const rest = restOf(save.error, ['key', 'value']);
  return (
    <Dialog open onClose={onClose} title={memory ? `Edit “${memory.key}”` : 'Add a memory'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {!memory && (
          <Field
            label="Key"
            hint="A key that is there already gets the new value."
            error={issueAt(save.error, 'key')}
          >
            {(ids) => (
              <Input
                {...ids}
                required
                maxLength={200}
                value={key}
                onChange={({ target }) => setKey(target.value)}
              />
            )}
          </Field>
        )}
        <Field label="Value" error={issueAt(save.error, 'value')}>
          {(ids) => (
            <TextArea
              {...ids}
              rows={6}
              maxLength={10_000}
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          )}
        </Field>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
