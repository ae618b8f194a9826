import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Dialog } from '../../../blocks/dialog.tsx';
import { Field, Input } from '../../../blocks/field.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import type { RunDetails } from './queries.ts';

/** A new session that begins with everything up to the end of the run. */
export default function Continue({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const navigate = useNavigate();
  const [title, setTitle] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const go = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const body = title.trim() ? { title: title.trim() } : {};
      const session = await troupe.runs.continue({ params: { runId: run.id }, body });
      onClose();
      const to: string = `/sessions/${session.agentId}/${session.id}`;
      void navigate({ to });
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={onClose} title="Continue as a session">
      <form onSubmit={(event) => void go(event)} className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          The new session begins with all messages up to the end of this run, and goes its own way from there.
        </p>
        <Field label="Title" hint="Without one: that of the session which this run is of.">
          {(ids) => (
            <Input {...ids} value={title} maxLength={200} onChange={({ target }) => setTitle(target.value)} />
          )}
        </Field>
        {error && <Notice tone="bad">{error}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Open the session
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
