import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Page } from '../../blocks/page.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { inputOf, newDraft } from './draft.ts';
import { TriggerEditor } from './trigger-editor.tsx';

export function NewTriggerPage() {
  const [draft, setDraft] = useState(newDraft);
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: () => troupe.triggers.create({ body: inputOf(draft, true) }),
    onSuccess: async (trigger) => {
      await client.invalidateQueries({ queryKey: ['triggers'] });
      say(`Created trigger ${trigger.name}.`);
      await navigate({
        to: '/triggers/$trigger',
        params: { trigger: trigger.name },
        ignoreBlocker: true,
      });
    },
  });
  return (
    <Page title="Create trigger" crumbs={[{ label: 'Triggers', to: '/triggers' }]}>
      <TriggerEditor
        draft={draft}
        change={(part) => setDraft((now) => ({ ...now, ...part }))}
        isChanged={!create.isSuccess && draft !== newDraft}
        isNew
        busy={create.isPending}
        error={create.error}
        onSave={() => create.mutate()}
        onDiscard={() => void navigate({ to: '/triggers' })}
      />
    </Page>
  );
}
