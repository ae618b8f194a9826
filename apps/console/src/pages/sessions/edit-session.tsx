import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { ApiError } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';

const policies: Record<Api.BusyPolicy, string> = {
  queue: 'is answered next',
  steer: 'is shown to the run at work',
  interrupt: 'stops the run at work and is answered',
  reject: 'is refused',
};

export function EditSession({ session, onClose }: { session: Api.Session; onClose: () => void }) {
  const client = useQueryClient();
  const [title, setTitle] = useState(session.title ?? '');
  const [tags, setTags] = useState(session.tags.join(', '));
  const [policy, setPolicy] = useState(session.policy);
  const save = useMutation({
    mutationFn: () =>
      troupe.session(session.agentId, session.id).update({
        title: title.trim() || null,
        tags: tags
          .split(',')
          .map((tag) => tag.trim())
          .filter((tag) => tag !== ''),
        policy,
      }),
    onSuccess: (updated) => {
      client.setQueryData(['sessions', 'one', session.id], updated);
      void client.invalidateQueries({ queryKey: ['sessions'] });
      onClose();
    },
  });
  const issue = (path: string) =>
    save.error instanceof ApiError
      ? save.error.issues.find((one) => one.path.includes(path))?.message
      : undefined;
  return (
    <Dialog open onClose={onClose} title="Session">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Field label="Title" hint="Empty: made of the first message." error={issue('title')}>
          {(ids) => (
            <Input {...ids} maxLength={200} value={title} onChange={({ target }) => setTitle(target.value)} />
          )}
        </Field>
        <Field label="Tags" hint="Separated by commas." error={issue('tags')}>
          {(ids) => <Input {...ids} value={tags} onChange={({ target }) => setTags(target.value)} />}
        </Field>
        <Field label="A message while it is at work" error={issue('policy')}>
          {(ids) => (
            <Select
              {...ids}
              value={policy}
              onChange={({ target }) => setPolicy(target.value as Api.BusyPolicy)}
            >
              {Object.entries(policies).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {save.error && <Notice tone="bad">{save.error.message}</Notice>}
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
