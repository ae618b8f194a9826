import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Field, Select } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { projectQuery } from '../../data/project.ts';

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
      say('That is the default now.');
      return Promise.all(
        ['models', 'project', 'system'].map((noun) => client.invalidateQueries({ queryKey: [noun] })),
      );
    },
    onError: sayError,
  });
  if (models.length === 0) return null;
  return (
    <Card>
      <Field
        label="Default model of the project"
        hint="It answers where neither a message nor a session nor the agent names another."
      >
        {(ids) => (
          <Select
            {...ids}
            className="max-w-md"
            value={current}
            disabled={choose.isPending}
            onChange={({ target }) => target.value && choose.mutate(target.value)}
          >
            {current === '' && <option value="">None: the demo model answers</option>}
            {models
              .filter(({ id, status }) => status === 'active' || id === current)
              .map((model) => (
                <option key={model.id} value={model.id}>
                  {model.displayName}
                </option>
              ))}
          </Select>
        )}
      </Field>
    </Card>
  );
}
