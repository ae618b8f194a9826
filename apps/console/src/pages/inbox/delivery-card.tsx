import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Json, Time } from '@troupe/ui';
import { Button } from '../../blocks/button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration } from '../../data/format.ts';
import { useSettling } from './decide.ts';

/** A delivery that was given up: why, what was tried, and the button that tries it again. */
export function DeliveryCard({ delivery }: { delivery: Api.Delivery }) {
  const { redeliver } = useSettling();
  const details = useQuery({
    queryKey: ['deliveries', 'one', delivery.id, delivery.attempts],
    queryFn: () => troupe.triggers.delivery({ params: { deliveryId: delivery.id } }),
  });
  const again = useMutation({
    mutationFn: () => redeliver(delivery.id),
    onSuccess: () => say('It is on its way again.'),
  });
  return (
    <Card
      title={
        <>
          <Link to="/triggers" className="rounded-sm hover:underline">
            {delivery.trigger}
          </Link>{' '}
          <span className="font-normal text-faint">version {delivery.version}</span>
        </>
      }
      actions={
        <Button
          kind="primary"
          size="small"
          busy={again.isPending}
          disabled={delivery.erased}
          onClick={() => again.mutate()}
        >
          Redeliver
        </Button>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {again.error && <Notice tone="bad">{again.error.message}</Notice>}
        {delivery.error && (
          <Notice tone="bad">
            {delivery.error.message} <code className="font-mono text-2xs">{delivery.error.code}</code>
          </Notice>
        )}
        {delivery.erased && <Notice>What it is of was deleted. It cannot be delivered again.</Notice>}
        <p className="break-all text-muted">
          {delivery.event} of <code className="font-mono text-xs">{delivery.path}</code>
        </p>
        <Loaded query={details}>
          {({ log, document }) => (
            <>
              <ol aria-label="Attempts" className="divide-y divide-line rounded-md border border-line">
                {log.map((attempt) => (
                  <li
                    key={`${attempt.attempt} ${attempt.startedAt}`}
                    className="flex gap-3 px-3 py-1.5 text-xs"
                  >
                    <span className="shrink-0 text-faint tabular-nums">{attempt.attempt}</span>
                    <span className="min-w-0 flex-1 break-words">
                      {attempt.error?.message ?? 'went well'}
                    </span>
                    <span className="shrink-0 text-faint tabular-nums">
                      {attempt.durationMs !== null && formatDuration(attempt.durationMs)}{' '}
                      <Time value={attempt.startedAt} />
                    </span>
                  </li>
                ))}
              </ol>
              {document && <Json value={document} label="The document" lines={12} />}
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}
