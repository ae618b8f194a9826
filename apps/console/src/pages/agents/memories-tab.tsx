import { getRouteApi } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Brain, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { AddButton, IconButton } from '../../blocks/button.tsx';
import { TextAreaField, TextField } from '../../blocks/field.tsx';
import { Confirm, FormDialog } from '../../blocks/form.tsx';
import { TableList, Toolbar } from '../../blocks/list.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { given } from '../../data/search-values.ts';
import { useWhose, Whose } from './whose.tsx';

const route = getRouteApi('/agents/$agentId');

/** What the agent remembers: for all, or of one person. */
export default function MemoriesTab({ agentId }: { agentId: string }) {
  const { search } = route.useSearch();
  const navigate = route.useNavigate();
  const whose = useWhose();
  const [edited, setEdited] = useState<Api.Memory | 'new' | null>(null);
  const [deleted, setDeleted] = useState<string | null>(null);
  useLive('memories');
  const list = useCursorPages(['memories', agentId, whose, search], (page) =>
    troupe.memories.list({
      params: { agentId },
      query: { ...page, ...whose, ...(search ? { search } : {}) },
    }),
  );
  const add = <AddButton onClick={() => setEdited('new')}>Add memory</AddButton>;
  return (
    <div className="flex max-w-5xl flex-col gap-4">
      <Toolbar actions={add}>
        <Whose />
        <SearchBox
          label="Search memories"
          value={search ?? ''}
          onSearch={(text) =>
            void navigate({ search: (now) => given({ ...now, search: text || undefined }), replace: true })
          }
          className="w-64 max-w-full"
        />
      </Toolbar>
      <TableList
        list={list}
        empty={
          search ? (
            <Empty title="No memories match" />
          ) : (
            <Empty icon={Brain} title="No memories yet">
              An agent with the Memory capability stores facts here. You can add more.
            </Empty>
          )
        }
        label="Memories"
        keyOf={(memory) => memory.key}
        columns={[
          {
            name: 'Key',
            cellClass: 'max-w-48 truncate align-top font-medium',
            title: (memory) => memory.key,
            cell: (memory) => memory.key,
          },
          {
            name: 'Value',
            cellClass: 'max-w-xl align-top',
            cell: (memory) => <p className="line-clamp-3 break-words whitespace-pre-wrap">{memory.value}</p>,
          },
          { name: 'Changed', cellClass: 'align-top', time: (memory) => memory.updatedAt },
          {
            name: 'Actions',
            isAction: true,
            cellClass: 'align-top',
            cell: (memory) => (
              <>
                <IconButton label={`Edit ${memory.key}`} icon={Pencil} onClick={() => setEdited(memory)} />
                <IconButton
                  label={`Delete ${memory.key}`}
                  icon={Trash2}
                  onClick={() => setDeleted(memory.key)}
                />
              </>
            ),
          },
        ]}
      />
      {edited && (
        <EditMemory
          agentId={agentId}
          whose={whose}
          memory={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
        />
      )}
      <Confirm
        open={deleted !== null}
        onClose={() => setDeleted(null)}
        title={`Delete memory “${deleted}”?`}
        label="Delete memory"
        changes="memories"
        act={() => troupe.memories.remove({ params: { agentId, key: deleted! }, query: whose })}
      >
        The agent stops using it in its next step.
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
  return (
    <FormDialog
      onClose={onClose}
      title={memory ? `Edit “${memory.key}”` : 'Add memory'}
      submit="Save memory"
      act={() => troupe.memories.set({ params: { agentId, key: key.trim() }, query: whose, body: { value } })}
      changes="memories"
    >
      {!memory && (
        <TextField
          label="Key"
          hint="An existing key gets the new value."
          path="key"
          required
          maxLength={200}
          value={key}
          onChange={setKey}
        />
      )}
      <TextAreaField
        label="Value"
        path="value"
        rows={6}
        maxLength={10_000}
        value={value}
        onChange={setValue}
      />
    </FormDialog>
  );
}
