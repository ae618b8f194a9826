import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { optionsOf, SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';

const policies: Record<Api.BusyPolicy, string> = {
  queue: 'Queue',
  steer: 'Steer the run',
  interrupt: 'Interrupt the run',
  reject: 'Reject',
};

export function EditSession({ session, onClose }: { session: Api.Session; onClose: () => void }) {
  const client = useQueryClient();
  const [title, setTitle] = useState(session.title ?? '');
  const [tags, setTags] = useState(session.tags.join(', '));
  const [policy, setPolicy] = useState(session.policy);
  return (
    <FormDialog
      onClose={onClose}
      title="Edit session"
      submit="Save session"
      act={() =>
        troupe.session(session.agentId, session.id).update({
          title: title.trim() || null,
          tags: tags
            .split(',')
            .map((tag) => tag.trim())
            .filter((tag) => tag !== ''),
          policy,
        })
      }
      changes="sessions"
      onDone={(updated) => {
        client.setQueryData(['sessions', 'one', session.id], updated);
        onClose();
      }}
    >
      <TextField
        label="Title"
        hint="Empty: generated from the first message."
        path="title"
        maxLength={200}
        value={title}
        onChange={setTitle}
      />
      <TextField label="Tags" hint="Separated by commas." path="tags" value={tags} onChange={setTags} />
      <SelectField
        label="Messages during a run"
        path="policy"
        value={policy}
        onChange={setPolicy}
        options={optionsOf(policies)}
      />
    </FormDialog>
  );
}
