import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Page } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { bodyOf, draftOf } from './draft.ts';
import { ToolForm } from './tool-form.tsx';
import { TryTool } from './try-tool.tsx';
import { kindWords } from './words.ts';

const route = getRouteApi('/tools/$toolId');

export function ToolPage() {
  const { toolId } = route.useParams();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [deletes, setDeletes] = useState(false);
  const query = useQuery({
    queryKey: ['tools', 'one', toolId],
    queryFn: () => troupe.tools.get({ params: { toolId } }),
  });
  const tool = query.data;
  return (
    <Page
      title={tool?.name ?? 'Tool'}
      crumbs={[{ label: 'Tools', to: '/tools' }]}
      heading={
        tool && (
          <span className="flex min-w-0 items-center gap-2">
            <span className="truncate">{tool.displayName ?? tool.name}</span>
            <Tag title={kindWords[tool.kind]}>{tool.kind}</Tag>
            <Tag>version {tool.version}</Tag>
          </span>
        )
      }
      actions={
        tool && (
          <Button
            kind="danger"
            icon={<Trash2 size={14} aria-hidden="true" />}
            onClick={() => setDeletes(true)}
          >
            Delete
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {(tool) => (
          <div className="grid max-w-6xl items-start gap-4 lg:grid-cols-[3fr_2fr]">
            <EditTool key={`${tool.id} ${tool.version}`} tool={tool} />
            <TryTool key={tool.id} tool={tool} />
          </div>
        )}
      </Loaded>
      <Confirm
        open={deletes}
        onClose={() => setDeletes(false)}
        title={`Delete ${tool?.name}?`}
        label="Delete"
        act={async () => {
          await troupe.tools.remove({ params: { toolId } });
          client.removeQueries({ queryKey: ['tools', 'one', toolId] });
          void client.invalidateQueries({ queryKey: ['tools', 'all'] });
          await navigate({ to: '/tools' });
        }}
      >
        A tool that an agent carries or a network has cannot be deleted. Runs that have begun keep it.
      </Confirm>
    </Page>
  );
}

function EditTool({ tool }: { tool: Api.Tool }) {
  const [draft, setDraft] = useState(() => draftOf(tool));
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set());
  const [attempt, setAttempt] = useState(0);
  const client = useQueryClient();
  const isChanged = invalid.size > 0 || JSON.stringify(draft) !== JSON.stringify(draftOf(tool));
  const save = useMutation({
    mutationFn: () => troupe.tools.update({ params: { toolId: tool.id }, body: bodyOf(draft, tool) }),
    onSuccess: async (saved) => {
      say(`Saved as version ${saved.version}. The next run of every agent that carries it gets it.`);
      client.setQueryData(['tools', 'one', tool.id], saved);
      await client.invalidateQueries({ queryKey: ['tools'] });
    },
  });
  return (
    <form
      aria-label="Edit the tool"
      className="flex min-w-0 flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (invalid.size === 0) save.mutate();
      }}
    >
      <ToolForm
        key={attempt}
        isNew={false}
        draft={draft}
        change={(part) => setDraft((now) => ({ ...now, ...part }))}
        invalid={(field, isInvalid) =>
          setInvalid((now) => {
            const next = new Set(now);
            if (isInvalid) next.add(field);
            else next.delete(field);
            return next;
          })
        }
        error={save.error}
      />
      {save.error && <Notice tone="bad">{messageOf(save.error)}</Notice>}
      {isChanged && (
        <div className="sticky bottom-2 flex justify-end gap-2 rounded-lg border border-line bg-raised p-3 shadow-high">
          <Button
            onClick={() => {
              setDraft(draftOf(tool));
              setInvalid(new Set());
              save.reset();
              setAttempt(attempt + 1);
            }}
          >
            Discard
          </Button>
          <Button type="submit" kind="primary" busy={save.isPending} disabled={invalid.size > 0}>
            Save
          </Button>
        </div>
      )}
      <Unsaved when={isChanged} />
    </form>
  );
}
