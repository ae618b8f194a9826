import { TextField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { formatDuration } from '../../data/format.ts';
import type { EditorProps } from './trigger-editor.tsx';

const fields = [
  { name: 'timeoutMs', label: 'Time for a receiver (ms)', path: 'timeoutMs', isTime: true },
  { name: 'maxAttempts', label: 'Attempts', path: 'retry.maxAttempts', isTime: false },
  { name: 'initialBackoffMs', label: 'First pause (ms)', path: 'retry.initialBackoffMs', isTime: true },
  { name: 'maxBackoffMs', label: 'Longest pause (ms)', path: 'retry.maxBackoffMs', isTime: true },
] as const;

/** How long, how often, how many. */
export function RetryFields({ draft, change }: EditorProps) {
  return (
    <Card title="Attempts and limits">
      <div className="grid gap-4 sm:grid-cols-3">
        {fields.map(({ name, label, path, isTime }) => (
          <TextField
            key={name}
            label={label}
            hint={isTime ? formatDuration(draft[name]) : undefined}
            path={path}
            type="number"
            min={1}
            step={1}
            required
            value={draft[name]}
            onChange={(value) => change({ [name]: Number(value) })}
          />
        ))}
        <TextField
          label="At most in a minute"
          hint={draft.type === 'webhook' ? 'Empty: no limit.' : 'Empty: 60.'}
          path="ratePerMinute"
          type="number"
          min={1}
          step={1}
          value={draft.ratePerMinute ?? ''}
          onChange={(value) => change({ ratePerMinute: value === '' ? null : Number(value) })}
        />
      </div>
    </Card>
  );
}
