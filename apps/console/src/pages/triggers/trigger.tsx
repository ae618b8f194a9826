import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Page } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say } from '../../blocks/toast.tsx';
import { NewerNotice, VersionConflict } from '../../blocks/version-conflict.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import { given } from '../../data/search-values.ts';
import { useVersioned } from '../../data/versioned.ts';
import { DeliveryList } from './delivery-list.tsx';
import { changeOf, draftOf } from './draft.ts';
import { Switch } from './switch.tsx';
import { TriggerEditor } from './trigger-editor.tsx';

const route = getRouteApi('/triggers/$trigger');

export function TriggerPage() {
  const { trigger: ref } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const go = useNavigate();
  const client = useQueryClient();
  const [deletes, setDeletes] = useState(false);
  useLive('triggers');
  const query = useQuery({
    queryKey: ['triggers', 'one', ref],
    queryFn: () => troupe.triggers.get({ params: { trigger: ref } }),
  });
  const trigger = query.data;
  return (
    <Page
      title={trigger?.name ?? 'Trigger'}
      fill
      crumbs={[{ label: 'Triggers', to: '/triggers' }]}
      heading={
        trigger && (
          <span className="flex min-w-0 items-center gap-2">
            <span className="truncate">{trigger.name}</span>
            <Tag>version {trigger.version}</Tag>
            <Tag tone={trigger.enabled ? 'good' : 'quiet'}>{trigger.enabled ? 'enabled' : 'disabled'}</Tag>
          </span>
        )
      }
      actions={
        trigger && (
          <>
            <Switch trigger={trigger} />
            <Button kind="danger" size="small" icon={Trash2} onClick={() => setDeletes(true)}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Loaded query={query}>
        {(trigger) => (
          <Tabs
            label="About the trigger"
            value={search.tab ?? 'rule'}
            onChange={(tab) => void navigate({ search: tab === 'deliveries' ? { tab } : {}, replace: true })}
            tabs={[
              { value: 'rule', label: 'Rule' },
              { value: 'deliveries', label: 'Deliveries' },
            ]}
          >
            <TabPanel value={search.tab ?? 'rule'}>
              {trigger.disabledReason && (
                <Notice tone="bad" className="mb-4">
                  It was turned off: {trigger.disabledReason}
                </Notice>
              )}
              {trigger.findings.map(({ path, message }) => (
                <Notice key={`${path} ${message}`} tone="warn" className="mb-4">
                  <code className="font-mono text-xs">{path}</code> {message}.
                </Notice>
              ))}
              {trigger.conditionError && (
                <Notice tone="warn" className="mb-4">
                  <When value={trigger.conditionError.at} /> the condition could not be evaluated for{' '}
                  <code className="font-mono text-xs break-all">{trigger.conditionError.path}</code>:{' '}
                  {trigger.conditionError.message}
                </Notice>
              )}
              {/* Stays while one looks at the deliveries: what is not saved must not be lost by that. */}
              <div hidden={search.tab === 'deliveries'}>
                <Edit key={trigger.id} trigger={trigger} queryKey={['triggers', 'one', ref]} />
              </div>
              {search.tab === 'deliveries' && (
                <DeliveryList
                  trigger={trigger.name}
                  filter={search}
                  onFilter={(part) =>
                    void navigate({ search: (now) => given({ ...now, ...part }), replace: true })
                  }
                />
              )}
            </TabPanel>
          </Tabs>
        )}
      </Loaded>
      <Confirm
        open={deletes}
        onClose={() => setDeletes(false)}
        title={`Delete trigger ${trigger?.name}?`}
        label="Delete trigger"
        act={async () => {
          await troupe.triggers.remove({ params: { trigger: trigger!.id } });
          client.removeQueries({ queryKey: ['triggers', 'one', ref] });
          void client.invalidateQueries({ queryKey: ['triggers', 'list'] });
          await go({ to: '/triggers' });
        }}
      >
        This deletes its deliveries too, including pending ones.
      </Confirm>
    </Page>
  );
}

function Edit({ trigger, queryKey }: { trigger: Api.Trigger; queryKey: readonly unknown[] }) {
  const client = useQueryClient();
  const go = useNavigate();
  const edited = useVersioned({
    row: trigger,
    queryKey,
    draftOf,
    bodyOf: changeOf,
    read: () => troupe.triggers.get({ params: { trigger: trigger.id } }),
    update: (changes, baseVersion) =>
      troupe.triggers.update({ params: { trigger: trigger.id }, body: { ...changes, baseVersion } }),
    onSaved: async (saved) => {
      say(`Saved as version ${saved.version}. Earlier changes stay with the version before.`);
      client.setQueryData(['triggers', 'one', saved.name], saved);
      void client.invalidateQueries({ queryKey: ['triggers'] });
      if (saved.name !== trigger.name)
        await go({ to: '/triggers/$trigger', params: { trigger: saved.name }, ignoreBlocker: true });
    },
  });
  edited.follow(edited.isChanged);
  return (
    <div className="flex flex-col gap-4">
      <NewerNotice version={trigger.version} base={edited.base.version} />
      <TriggerEditor
        key={edited.key}
        draft={edited.draft}
        change={edited.change}
        isNew={false}
        isChanged={edited.isChanged}
        busy={edited.isSaving}
        error={edited.error}
        onSave={() => edited.isChanged && edited.save()}
        onDiscard={edited.discard}
      />
      <VersionConflict what="trigger" conflict={edited.conflict} />
    </div>
  );
}
