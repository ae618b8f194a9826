import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { TextField } from '../../../blocks/field.tsx';
import { FormDialog } from '../../../blocks/form.tsx';
import { sessionAddress } from '../../../data/addresses.ts';
import { troupe } from '../../../data/client.ts';
import type { RunDetails } from './queries.ts';

/** Creates a session from the messages up to the end of a run. */
export default function Continue({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const navigate = useNavigate();
  const [title, setTitle] = useState('');
  return (
    <FormDialog
      onClose={onClose}
      title="Continue as session"
      submit="Create session"
      act={() =>
        troupe.runs.continue({
          params: { runId: run.id },
          body: title.trim() ? { title: title.trim() } : {},
        })
      }
      onDone={(session) => {
        onClose();
        void navigate({ to: sessionAddress(session.agentId, session.id) });
      }}
    >
      <p className="text-sm text-muted">
        The new session starts with a copy of all messages up to the end of this run.
      </p>
      <TextField
        label="Title"
        path="title"
        hint="Empty: the title of the session of this run."
        maxLength={200}
        value={title}
        onChange={setTitle}
      />
    </FormDialog>
  );
}
