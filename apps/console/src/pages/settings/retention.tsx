import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { TextField } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';

const rulesQuery = queryOptions({ queryKey: ['retention'], queryFn: () => troupe.retention.get() });
const previewQuery = queryOptions({
  queryKey: ['retention', 'preview'],
  queryFn: () => troupe.retention.preview(),
});

type Days = Record<'sessions' | 'results' | 'runs' | 'events' | 'files' | 'deliveries' | 'audit', string>;

const FIELDS: [keyof Days, string, string, string][] = [
  ['sessions', 'sessions.deleteAfterDays', 'Delete sessions', 'Days after their last activity.'],
  [
    'results',
    'runs.keepResultAfterDays',
    'Keep only results of runs',
    'Days after their end. Steps and tool calls are deleted.',
  ],
  ['runs', 'runs.deleteAfterDays', 'Delete runs outside sessions', 'Days after their end.'],
  ['events', 'events.deleteAfterDays', 'Delete events', 'Days after they were written.'],
  ['files', 'files.deleteAfterDays', 'Delete files', 'Days after they were written.'],
  ['deliveries', 'deliveries.deleteAfterDays', 'Delete deliveries', 'Days after their end, at most 30.'],
  ['audit', 'audit.deleteAfterDays', 'Delete audit entries', 'Days after they were written.'],
];

export function RetentionCard() {
  const rules = useQuery(rulesQuery);
  const preview = useQuery(previewQuery);
  return (
    <Card title="Retention">
      <div className="flex flex-col gap-4">
        <Loaded query={rules}>
          {({ project }) => <Rules key={JSON.stringify(project)} rules={project} />}
        </Loaded>
        <Loaded query={preview}>{({ data }) => <Preview rows={data} />}</Loaded>
      </div>
    </Card>
  );
}

function Rules({ rules }: { rules: Api.Retention }) {
  const [days, setDays] = useState<Days>(() => toDays(rules));
  return (
    <Form
      submit="Save retention"
      isIncomplete={JSON.stringify(days) === JSON.stringify(toDays(rules))}
      act={() => troupe.retention.set({ body: toRules(days) })}
      changes="retention"
      onDone={() => say('Saved the retention rules.')}
    >
      <p className="text-sm text-muted">An empty field keeps the data. Deleted data cannot be restored.</p>
      {FIELDS.map(([field, path, label, hint]) => (
        <TextField
          key={field}
          label={label}
          hint={hint}
          path={path}
          inputMode="numeric"
          maxLength={5}
          value={days[field]}
          onChange={(value) => setDays({ ...days, [field]: value.replaceAll(/\D/g, '') })}
        />
      ))}
    </Form>
  );
}

function Preview({ rows }: { rows: Api.PurgePreview['data'] }) {
  const due = rows.filter(({ count }) => count > 0);
  if (due.length === 0) return <p className="text-sm text-muted">A purge would delete nothing now.</p>;
  return (
    <div className="text-sm">
      <p className="text-muted">A purge would delete now:</p>
      <ul>
        {due.map(({ kind, count, bytes, truncated }) => (
          <li key={kind}>
            {count.toLocaleString('en')}
            {truncated ? ' or more' : ''} {kind}, about {(bytes / 1_000_000).toFixed(1)} MB
          </li>
        ))}
      </ul>
    </div>
  );
}

function toDays({ runs, ...rules }: Api.Retention): Days {
  const text = (days: number | undefined) => (days === undefined ? '' : String(days));
  return {
    sessions: text(rules.sessions?.deleteAfterDays),
    results: text(runs?.keepResultAfterDays),
    runs: text(runs?.deleteAfterDays),
    events: text(rules.events?.deleteAfterDays),
    files: text(rules.files?.deleteAfterDays),
    deliveries: text(rules.deliveries?.deleteAfterDays),
    audit: text(rules.audit?.deleteAfterDays),
  };
}

function toRules({ results, runs, ...days }: Days): Api.Retention {
  const ofRuns = {
    ...(results ? { keepResultAfterDays: Number(results) } : {}),
    ...(runs ? { deleteAfterDays: Number(runs) } : {}),
  };
  const others = Object.entries(days).flatMap(([kind, value]) =>
    value ? [[kind, { deleteAfterDays: Number(value) }]] : [],
  );
  return { ...Object.fromEntries(others), ...(results || runs ? { runs: ofRuns } : {}) };
}
