import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { jsonProblem } from '../../blocks/code-area.tsx';
import { Checkbox } from '../../blocks/field.tsx';
import { FileText } from '../../blocks/file-text.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';

const tones = { created: 'good', updated: 'info', unchanged: 'quiet', deleted: 'warn' } as const;

/** Applies a file of triggers atomically. */
export function ApplyTriggers({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [prune, setPrune] = useState(false);
  const [applied, setApplied] = useState<Awaited<ReturnType<typeof troupe.triggers.apply>>['data']>();
  const problem = text.trim() === '' ? null : jsonProblem(text);
  return (
    <FormDialog
      onClose={onClose}
      title="Apply triggers"
      wide
      submit="Apply triggers"
      isIncomplete={text.trim() === '' || problem !== null}
      cancel={applied ? 'Close' : 'Cancel'}
      act={() => {
        const read = JSON.parse(text) as Api.JsonObject | Api.JsonObject[];
        const triggers = Array.isArray(read)
          ? read
          : Array.isArray(read.triggers)
            ? (read.triggers as Api.JsonObject[])
            : [read];
        return troupe.triggers.apply({ body: { triggers, prune } });
      }}
      changes="triggers"
      onDone={({ data }) => setApplied(data)}
    >
      <p className="text-sm text-muted">
        A list of triggers as JSON, applied atomically. A trigger that does not change keeps its version.
      </p>
      <FileText
        accept=".json"
        label="JSON"
        error={problem?.message}
        errorLine={problem?.line ?? null}
        value={text}
        onChange={setText}
        placeholder={
          '[{ "name": "on-failure", "collection": "runs", "events": ["update"],\n   "condition": "event.document.status == \\"failed\\"",\n   "action": { "type": "webhook", "url": "https://example.com/hook" } }]'
        }
      />
      <Checkbox label="Delete triggers that the file does not name" checked={prune} onChange={setPrune} />
      {applied && (
        <ul aria-label="Applied triggers" className="flex flex-wrap gap-2">
          {applied.map(({ name, outcome }) => (
            <li key={name}>
              <Tag tone={tones[outcome]}>
                {name}: {outcome}
              </Tag>
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  );
}
