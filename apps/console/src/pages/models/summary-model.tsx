import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { SelectField } from '../../blocks/field.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { projectQuery } from '../../data/project.ts';

/** The model that summarises long conversations of agents that name none. */
export function SummaryModel({ models }: { models: Api.Model[] }) {
  const client = useQueryClient();
  const { data: project } = useQuery(projectQuery);
  const current = project?.compactionModelId ?? '';
  const choose = useMutation({
    mutationFn: (modelId: string) =>
      troupe.access.updateProject({ body: { compactionModelId: modelId || null } }),
    onSuccess: () => {
      say('Changed the model for summaries.');
      return client.invalidateQueries({ queryKey: ['project'] });
    },
    onError: sayError,
  });
  if (!project) return null;
  return (
    <SelectField
      label="Model for summaries"
      hint="Summarises long conversations, unless the agent names another. A cheaper model is often enough."
      className="max-w-md"
      disabled={choose.isPending}
      first="The model of the agent"
      value={current}
      onChange={(modelId) => choose.mutate(modelId)}
      options={models
        .filter(({ id, status }) => status === 'active' || id === current)
        .map((model) => [model.id, model.displayName])}
    />
  );
}
