import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Button } from '../../blocks/button.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';

/** Enables or disables a trigger. */
export function Switch({ trigger }: { trigger: Api.Trigger }) {
  const client = useQueryClient();
  const params = { trigger: trigger.id };
  const turn = useMutation({
    mutationFn: () =>
      trigger.enabled
        ? troupe.triggers.update({ params, body: { enabled: false } })
        : troupe.triggers.enable({ params }),
    onSuccess: (now) => {
      say(now.enabled ? `${now.name} is enabled; what waited is delivered.` : `${now.name} is disabled.`);
      return client.invalidateQueries({ queryKey: ['triggers'] });
    },
    onError: sayError,
  });
  return (
    <Button
      size="small"
      busy={turn.isPending}
      aria-label={`${trigger.enabled ? 'Disable' : 'Enable'} ${trigger.name}`}
      onClick={() => turn.mutate()}
    >
      {trigger.enabled ? 'Disable' : 'Enable'}
    </Button>
  );
}
