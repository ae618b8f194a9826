import { useQuery } from '@tanstack/react-query';
import { SelectField, TextAreaField, TextField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { modelsQuery } from '../../data/queries.ts';
import type { PartProps } from './edit-tab.tsx';

const DEFAULT_THRESHOLD = 80;
const DEFAULT_KEEP_LAST = 20;

/** How conversations that outgrow the context of the model are summarised. */
export function EditCompaction({ draft, change }: PartProps) {
  const models = useQuery(modelsQuery).data ?? [];
  const { compaction } = draft;
  const set = (part: Partial<typeof compaction>) => {
    const entries = Object.entries({ ...compaction, ...part });
    change({ compaction: Object.fromEntries(entries.filter(([, value]) => value !== undefined)) });
  };
  const { threshold, keepLast, modelId, prompt } = compaction;
  return (
    <Card title="Long conversations">
      <div className="grid gap-4 sm:grid-cols-2 md:grid-cols-3">
        <TextField
          label="Summarise above (% of the context)"
          path="compaction.threshold"
          type="number"
          min={10}
          max={95}
          step={1}
          placeholder={String(DEFAULT_THRESHOLD)}
          value={threshold === undefined ? '' : Math.round(threshold * 100)}
          onChange={(value) => set({ threshold: value === '' ? undefined : Number(value) / 100 })}
        />
        <TextField
          label="Messages that stay verbatim"
          path="compaction.keepLast"
          type="number"
          min={0}
          max={1000}
          step={1}
          placeholder={String(DEFAULT_KEEP_LAST)}
          value={keepLast ?? ''}
          onChange={(value) => set({ keepLast: value === '' ? undefined : Number(value) })}
        />
        <SelectField
          label="Model that writes summaries"
          path="compaction.modelId"
          first="Default of the project"
          value={modelId ?? ''}
          onChange={(id) => set({ modelId: id || undefined })}
          options={models
            .filter(({ id, status }) => status === 'active' || id === modelId)
            .map((model) => [model.id, model.displayName])}
        />
      </div>
      <details className="mt-4" open={prompt !== undefined}>
        <summary className="w-fit rounded-sm text-xs font-medium text-muted hover:text-text">
          Instructions for the summary
        </summary>
        <div className="mt-3">
          <TextAreaField
            label="Instructions"
            hint="Replace the built-in instructions, which ask for facts, decisions, open questions and references."
            path="compaction.prompt"
            rows={5}
            maxLength={20_000}
            value={prompt ?? ''}
            onChange={(value) => set({ prompt: value === '' ? undefined : value })}
          />
        </div>
      </details>
    </Card>
  );
}
