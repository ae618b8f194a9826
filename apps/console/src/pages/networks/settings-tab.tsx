import { TextAreaField, TextField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import type { Definition } from './draft/definition.ts';
import type { Draft } from './draft/use-draft.ts';
import { ContractForm } from './graph/network-panel.tsx';

type Policy = Definition['policy'];
const limits: { name: keyof Policy; label: string; hint?: string }[] = [
  { name: 'maxSteps', label: 'Steps', hint: 'Model calls of a run, of all agents together.' },
  {
    name: 'retries',
    label: 'Refusals',
    hint: 'Decisions in a row that may be refused before the run fails.',
  },
  { name: 'toolCalls', label: 'Tool calls' },
  { name: 'tokens', label: 'Tokens', hint: 'Of the whole run. Empty: no limit.' },
  { name: 'wallMs', label: 'Time, in ms', hint: 'From the beginning of the run to its end.' },
  { name: 'modelTimeoutMs', label: 'Time of a model call, in ms' },
  { name: 'modelTries', label: 'Tries of a model call' },
  { name: 'retryBackoffMs', label: 'Wait between tries, in ms' },
  { name: 'maxTasks', label: 'Tasks of one answer' },
  { name: 'taskSteps', label: 'Steps of a task' },
  { name: 'taskDepth', label: 'Depth of tasks' },
  { name: 'runTasks', label: 'Tasks of a run' },
];

/** The network's own fields. They are edits of the same draft, and saved with it. */
export default function SettingsTab({ draft }: { draft: Draft }) {
  const { definition, edit, isFixed } = draft;
  return (
    <div className="flex max-w-3xl flex-col gap-5">
      <Card title="Name">
        <fieldset disabled={isFixed} className="flex flex-col gap-3">
          <TextField
            label="Name"
            maxLength={200}
            value={definition.name}
            onChange={(value) => edit((now) => ({ ...now, name: value }), 'name')}
          />
          <TextAreaField
            label="Description"
            rows={2}
            maxLength={10_000}
            value={definition.description ?? ''}
            onChange={(value) => edit((now) => ({ ...now, description: value || null }), 'description')}
          />
        </fieldset>
      </Card>
      <Card title="Limits of a run">
        <fieldset disabled={isFixed} className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
          {limits.map(({ name, label, hint }) => (
            <TextField
              key={name}
              label={label}
              hint={hint}
              type="number"
              min={0}
              value={definition.policy[name] ?? ''}
              onChange={(text) => {
                const value = text === '' ? null : Number(text);
                if (value === null && name !== 'tokens') return;
                edit((now) => ({ ...now, policy: { ...now.policy, [name]: value } }), `limit ${name}`);
              }}
            />
          ))}
        </fieldset>
      </Card>
      <Card>
        <ContractForm draft={draft} />
      </Card>
      {draft.isChanged && (
        <p className="text-sm text-muted">Changes here are part of the draft: save them with “Save” above.</p>
      )}
    </div>
  );
}
