import { useQuery, useQueryClient } from '@tanstack/react-query';
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
import { NewerNotice, VersionConflict } from '../../blocks/version-conflict.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { useVersioned } from '../../data/versioned.ts';
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
            <EditTool key={tool.id} tool={tool} />
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
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set());
  const client = useQueryClient();
  const edited = useVersioned({
    row: tool,
    queryKey: ['tools', 'one', tool.id],
    draftOf,
    bodyOf,
    read: () => troupe.tools.get({ params: { toolId: tool.id } }),
    update: (changes, baseVersion) =>
      troupe.tools.update({ params: { toolId: tool.id }, body: { ...changes, baseVersion } }),
    onSaved: async (saved) => {
      say(`Saved as version ${saved.version}. The next run of every agent that carries it gets it.`);
      await client.invalidateQueries({ queryKey: ['tools'] });
    },
  });
  const { draft, error } = edited;
  const isChanged = edited.isChanged || invalid.size > 0;
  edited.follow(isChanged);
  return (
    <form
      aria-label="Edit the tool"
      className="flex min-w-0 flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && invalid.size === 0) edited.save();
      }}
    >
      <NewerNotice version={tool.version} base={edited.base.version} />
      <ToolForm
        key={edited.key}
        isNew={false}
        draft={draft}
        change={edited.change}
        invalid={(field, isInvalid) =>
          setInvalid((now) => {
            const next = new Set(now);
            if (isInvalid) next.add(field);
            else next.delete(field);
            return next;
          })
        }
        error={error}
      />
      {error && <Notice tone="bad">{messageOf(error)}</Notice>}
      {isChanged && (
        <div className="sticky bottom-2 flex justify-end gap-2 rounded-lg border border-line bg-raised p-3 shadow-high">
          <Button
            onClick={() => {
              setInvalid(new Set());
              edited.discard();
            }}
          >
            Discard
          </Button>
          <Button type="submit" kind="primary" busy={edited.isSaving} disabled={invalid.size > 0}>
            Save
          </Button>
        </div>
      )}
      <Unsaved when={isChanged} />
      <VersionConflict what="tool" conflict={edited.conflict} />
    </form>
  );
}
