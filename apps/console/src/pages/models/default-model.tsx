import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { SelectField } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { projectQuery } from '../../data/project.ts';
import { SummaryModel } from './summary-model.tsx';

/** The model that answers where neither message nor session nor agent names one. */
export function DefaultModel({ models }: { models: Api.Model[] }) {
  const client = useQueryClient();
  // Whoever may not read the project chooses by the models alone.
  const { data: project } = useQuery(projectQuery);
  const marked = models.find(({ isDefault }) => isDefault);
  const current = project?.defaultModelId ?? marked?.id ?? '';
  const choose = useMutation({
    mutationFn: async (modelId: string) => {
      await troupe.models.updateModel({ params: { modelId }, body: { isDefault: true } });
      // What the project names goes before the mark.
      if (project?.defaultModelId) await troupe.access.updateProject({ body: { defaultModelId: modelId } });
    },
    onSuccess: () => {
      say('Changed the default model.');
      return Promise.all(
        ['models', 'project', 'system'].map((noun) => client.invalidateQueries({ queryKey: [noun] })),
      );
    },
    onError: sayError,
  });
  if (models.length === 0) return null;
  return (
    <Card>
      <div className="grid gap-4 md:grid-cols-2">
        <SelectField
          label="Default model of the project"
          hint="Used unless a message, a session or the agent names another."
          className="max-w-md"
          disabled={choose.isPending}
          {...(current === '' ? { first: 'None: the demo model answers' } : {})}
          value={current}
          onChange={(modelId) => modelId && choose.mutate(modelId)}
          options={models
            .filter(({ id, status }) => status === 'active' || id === current)
            .map((model) => [model.id, model.displayName])}
        />
        <SummaryModel models={models} />
      </div>
    </Card>
  );
}
