import { useState } from 'react';
import { Field, Input, TextArea } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { formatNumber } from '../../data/format.ts';
import { issueAt } from '../../data/issues.ts';
import type { PartProps } from './edit-tab.tsx';

export function EditBasics({ draft, change, error }: PartProps) {
  const [tags, setTags] = useState(draft.tags.join(', '));
  const size = draft.systemPrompt.length;
  return (
    <>
      <Card title="Who it is">
        <div className="grid gap-4 md:grid-cols-2">
          <Field label="Name" error={issueAt(error, 'name')}>
            {(ids) => (
              <Input
                {...ids}
                required
                maxLength={200}
                value={draft.name}
                onChange={({ target }) => change({ name: target.value })}
              />
            )}
          </Field>
          <Field label="Tags" hint="Separated by commas." error={issueAt(error, 'tags')}>
            {(ids) => (
              <Input
                {...ids}
                value={tags}
                onChange={({ target }) => {
                  setTags(target.value);
                  const given = target.value.split(',').map((tag) => tag.trim());
                  change({ tags: [...new Set(given.filter((tag) => tag !== ''))] });
                }}
              />
            )}
          </Field>
          <Field
            label="Description"
            hint="For people."
            error={issueAt(error, 'description')}
            className="md:col-span-2"
          >
            {(ids) => (
              <Input
                {...ids}
                value={draft.description ?? ''}
                onChange={({ target }) => change({ description: target.value || null })}
              />
            )}
          </Field>
        </div>
      </Card>
      <Card
        title="Prompt"
        actions={
          <span className="text-xs text-faint tabular-nums">
            {formatNumber(size)} characters, about {formatNumber(Math.ceil(size / 4))} tokens
          </span>
        }
      >
        <Field
          label="What the model is told before the conversation"
          hint="Capabilities add to it; the preview shows the whole."
          error={issueAt(error, 'systemPrompt')}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={Math.min(24, Math.max(8, draft.systemPrompt.split('\n').length + 1))}
              value={draft.systemPrompt}
              onChange={({ target }) => change({ systemPrompt: target.value })}
            />
          )}
        </Field>
      </Card>
    </>
  );
}
