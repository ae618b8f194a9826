import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { FormErrors } from '../../blocks/form-errors.tsx';
import { Page } from '../../blocks/page.tsx';
import { SaveBar } from '../../blocks/save-bar.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { NewerNotice, VersionConflict } from '../../blocks/version-conflict.tsx';
import { troupe } from '../../data/client.ts';
import { useInvalidFields } from '../../data/invalid-fields.ts';
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
          <Button kind="danger" icon={Trash2} onClick={() => setDeletes(true)}>
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
        title={`Delete tool ${tool?.name}?`}
        label="Delete tool"
        act={async () => {
          await troupe.tools.remove({ params: { toolId } });
          client.removeQueries({ queryKey: ['tools', 'one', toolId] });
          void client.invalidateQueries({ queryKey: ['tools', 'all'] });
          await navigate({ to: '/tools' });
        }}
      >
        A tool that an agent or a network uses cannot be deleted. Runs in progress keep it.
      </Confirm>
    </Page>
  );
}

function EditTool({ tool }: { tool: Api.Tool }) {
  const invalid = useInvalidFields();
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
      say(`Saved as version ${saved.version}. New runs use it.`);
      await client.invalidateQueries({ queryKey: ['tools'] });
    },
  });
  const { draft, error } = edited;
  const isChanged = edited.isChanged || invalid.any;
  edited.follow(isChanged);
  return (
    <FormErrors error={error}>
      <form
        aria-label="Edit the tool"
        className="flex min-w-0 flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && !invalid.any) edited.save();
        }}
      >
        <NewerNotice version={tool.version} base={edited.base.version} />
        <ToolForm
          key={edited.key}
          isNew={false}
          draft={draft}
          change={edited.change}
          invalid={invalid.mark}
        />
        {isChanged && (
          <SaveBar
            busy={edited.isSaving}
            isIncomplete={invalid.any}
            onDiscard={() => {
              invalid.clear();
              edited.discard();
            }}
          />
        )}
        <Unsaved when={isChanged} />
        <VersionConflict what="tool" conflict={edited.conflict} />
      </form>
    </FormErrors>
  );
}
