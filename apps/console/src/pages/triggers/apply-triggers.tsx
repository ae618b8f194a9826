import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CodeArea, jsonProblem } from '../../blocks/code-area.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Checkbox, Field } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';

const tones = { created: 'good', updated: 'info', unchanged: 'quiet', deleted: 'warn' } as const;

/** Makes triggers what a file says, all or none. */
export function ApplyTriggers({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [prune, setPrune] = useState(false);
  const client = useQueryClient();
  const problem = text.trim() === '' ? null : jsonProblem(text);
  const apply = useMutation({
    mutationFn: () => {
      const read = JSON.parse(text) as Api.JsonObject | Api.JsonObject[];
      const triggers = Array.isArray(read)
        ? read
        : Array.isArray(read.triggers)
          ? (read.triggers as Api.JsonObject[])
          : [read];
      return troupe.triggers.apply({ body: { triggers, prune } });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['triggers'] }),
  });
  return (
    <Dialog open onClose={onClose} title="Apply a file of triggers" wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          apply.mutate();
        }}
      >
        <p className="text-sm text-muted">
          A list of triggers as JSON. Each becomes what the file says, all or none; one that is so already
          keeps its version.
        </p>
        <Field label="File">
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept=".json"
              className="text-sm"
              onChange={async ({ target }) => {
                const file = target.files?.[0];
                if (file) setText(await file.text());
              }}
            />
          )}
        </Field>
        <Field label="JSON" error={problem?.message}>
          {(ids) => (
            <CodeArea
              {...ids}
              rows={10}
              mostRows={16}
              value={text}
              errorLine={problem?.line ?? null}
              onChange={setText}
              placeholder={
                '[{ "name": "on-failure", "collection": "runs", "events": ["update"],\n   "condition": "event.document.status == \\"failed\\"",\n   "action": { "type": "webhook", "url": "https://example.com/hook" } }]'
              }
            />
          )}
        </Field>
        <Checkbox
          label="Delete triggers that the file does not name"
          checked={prune}
          onChange={({ target }) => setPrune(target.checked)}
        />
        {apply.error && <Notice tone="bad">{messageOf(apply.error)}</Notice>}
        {apply.data && (
          <ul aria-label="What was done" className="flex flex-wrap gap-2">
            {apply.data.data.map(({ name, outcome }) => (
              <li key={name}>
                <Tag tone={tones[outcome]}>
                  {name}: {outcome}
                </Tag>
              </li>
            ))}
          </ul>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{apply.data ? 'Close' : 'Cancel'}</Button>
          <Button
            type="submit"
            kind={prune ? 'danger' : 'primary'}
            busy={apply.isPending}
            disabled={text.trim() === '' || problem !== null}
          >
            Apply
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
