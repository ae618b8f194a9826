import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SelectField } from '../../../blocks/field.tsx';
import { FormDialog } from '../../../blocks/form.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { modelsQuery } from '../../../data/queries.ts';
import type { RunDetails } from './queries.ts';

/** Retries a run after its last finished step, optionally with another model. */
export default function Retry({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const models = useQuery(modelsQuery);
  const [modelId, setModelId] = useState('');
  return (
    <FormDialog
      onClose={onClose}
      title="Retry run"
      submit="Retry run"
      act={() => troupe.runs.retry({ params: { runId: run.id }, body: modelId ? { modelId } : {} })}
      changes="runs"
      onDone={() => {
        say('The run is queued.');
        onClose();
      }}
    >
      <p className="text-sm text-muted">
        {run.step > 0 ? `The ${run.step} finished ${run.step === 1 ? 'step is' : 'steps are'} kept. ` : ''}
        The run continues with the current version of the agent.
      </p>
      <SelectField
        label="Model"
        path="modelId"
        hint="Another model is used for the rest of the run."
        first="The model of the agent"
        value={modelId}
        onChange={setModelId}
        options={(models.data ?? [])
          .filter(({ status }) => status === 'active')
          .map((model) => [model.id, model.displayName])}
      />
    </FormDialog>
  );
}
