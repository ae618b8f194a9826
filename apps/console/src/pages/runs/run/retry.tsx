import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Dialog } from '../../../blocks/dialog.tsx';
import { Field, Select } from '../../../blocks/field.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import type { RunDetails } from './queries.ts';

/** Takes it up again after its last step, with another model if wanted. */
export default function Retry({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const client = useQueryClient();
  const models = useQuery({
    queryKey: ['models', 'choices'],
    queryFn: async () => (await troupe.models.listModels({ query: { limit: 200 } })).data,
  });
  const [modelId, setModelId] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const go = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await troupe.runs.retry({ params: { runId: run.id }, body: modelId ? { modelId } : {} });
      say('Queued again.');
      await client.invalidateQueries({ queryKey: ['runs'] });
      onClose();
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={onClose} title="Retry">
      <form onSubmit={(event) => void go(event)} className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          {run.step > 0 ? `The ${run.step} ${run.step === 1 ? 'step' : 'steps'} already taken stay. ` : ''}
          What follows runs with the agent as it is now.
        </p>
        <Field label="Model" hint="Another one is also taken whenever the run is taken up again.">
          {(ids) => (
            <Select {...ids} value={modelId} onChange={({ target }) => setModelId(target.value)}>
              <option value="">As a new message would have</option>
              {models.data
                ?.filter(({ status }) => status === 'active')
                .map((model) => (
                  <option key={model.id} value={model.id}>
                    {model.displayName}
                  </option>
                ))}
            </Select>
          )}
        </Field>
        {error && <Notice tone="bad">{error}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Retry
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
