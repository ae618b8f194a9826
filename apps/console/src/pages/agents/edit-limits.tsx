import { TextField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { formatBytes, formatDuration } from '../../data/format.ts';
import type { PartProps } from './edit-tab.tsx';

type Limits = PartProps['draft']['limits'];
interface Limit {
  name: keyof Limits;
  label: string;
  /** The platform's; null: none. */
  standard: number | null;
  unit?: 'ms' | 'bytes';
}

const first: Limit[] = [
  { name: 'steps', label: 'Model calls of a run', standard: 25 },
  { name: 'toolCalls', label: 'Tool calls of a run', standard: 200 },
  { name: 'wallMs', label: 'Time of a run, waiting included (ms)', standard: 604_800_000, unit: 'ms' },
  { name: 'tokens', label: 'Tokens of a run', standard: null },
  { name: 'concurrentRuns', label: 'Runs at the same time', standard: null },
  { name: 'historyMessages', label: 'Messages before a summary', standard: null },
];
const others: Limit[] = [
  { name: 'fanOut', label: 'Tool calls in one answer', standard: 32 },
  { name: 'chainDepth', label: 'Runs that cause one another', standard: 8 },
  { name: 'messageBytes', label: 'Size of an answer (bytes)', standard: 1_048_576, unit: 'bytes' },
  { name: 'toolOutputBytes', label: 'Size of a result (bytes)', standard: 262_144, unit: 'bytes' },
  { name: 'modelTimeoutMs', label: 'Time of a model call (ms)', standard: 600_000, unit: 'ms' },
  { name: 'modelStallMs', label: 'Silence of a model (ms)', standard: 120_000, unit: 'ms' },
  { name: 'modelTries', label: 'Tries per model', standard: 3 },
  { name: 'retryBackoffMs', label: 'Pause before the second try (ms)', standard: 500, unit: 'ms' },
];

export function EditLimits(props: PartProps) {
  const isSet = others.some(({ name }) => props.draft.limits[name] !== undefined);
  return (
    <Card title="Limits">
      <div className="grid gap-4 sm:grid-cols-2 md:grid-cols-3">
        {first.map((limit) => (
          <OneLimit key={limit.name} limit={limit} {...props} />
        ))}
      </div>
      <details className="mt-4" open={isSet}>
        <summary className="w-fit rounded-sm text-xs font-medium text-muted hover:text-text">
          More limits
        </summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2 md:grid-cols-3">
          {others.map((limit) => (
            <OneLimit key={limit.name} limit={limit} {...props} />
          ))}
        </div>
      </details>
    </Card>
  );
}

function OneLimit({ limit, draft, change }: PartProps & { limit: Limit }) {
  const { name, label, standard, unit } = limit;
  const value = draft.limits[name];
  const words = (amount: number) =>
    unit === 'ms' ? formatDuration(amount) : unit === 'bytes' ? formatBytes(amount) : null;
  const hint = value !== undefined ? words(value) : standard !== null ? words(standard) : null;
  return (
    <TextField
      label={label}
      hint={hint}
      path={`limits.${name}`}
      type="number"
      min={0}
      step={1}
      placeholder={standard === null ? 'No limit' : String(standard)}
      value={value ?? ''}
      onChange={(value) => {
        const { [name]: _, ...rest } = draft.limits;
        change({ limits: value === '' ? rest : { ...rest, [name]: Number(value) } });
      }}
    />
  );
}
