import { useState } from 'react';
import { TextAreaField, TextField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { formatNumber } from '../../data/format.ts';
import type { PartProps } from './edit-tab.tsx';

export function EditBasics({ draft, change }: PartProps) {
  const [tags, setTags] = useState(draft.tags.join(', '));
  const size = draft.systemPrompt.length;
  return (
    <>
      <Card title="Who it is">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Name"
            path="name"
            required
            maxLength={200}
            value={draft.name}
            onChange={(name) => change({ name })}
          />
          <TextField
            label="Tags"
            hint="Separated by commas."
            path="tags"
            value={tags}
            onChange={(value) => {
              setTags(value);
              const given = value.split(',').map((tag) => tag.trim());
              change({ tags: [...new Set(given.filter((tag) => tag !== ''))] });
            }}
          />
          <TextField
            label="Description"
            hint="For people."
            path="description"
            className="md:col-span-2"
            value={draft.description ?? ''}
            onChange={(value) => change({ description: value || null })}
          />
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
        <TextAreaField
          label="What the model is told before the conversation"
          hint="Capabilities add to it; the preview shows the whole."
          path="systemPrompt"
          rows={Math.min(24, Math.max(8, draft.systemPrompt.split('\n').length + 1))}
          value={draft.systemPrompt}
          onChange={(systemPrompt) => change({ systemPrompt })}
        />
      </Card>
    </>
  );
}
