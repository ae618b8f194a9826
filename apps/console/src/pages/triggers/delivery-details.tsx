import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Button } from '../../blocks/button.tsx';
import { CodeBlock } from '../../blocks/code-block.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { TextDiff } from '../../blocks/text-diff.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration } from '../../data/format.ts';
import { deliveryTones, deliveryWords } from './words.ts';

const text = (value: unknown) => JSON.stringify(value, null, 2) ?? '';

/** One delivery: what changed, and every attempt with what was sent and what came back. */
export function DeliveryDetails({ id, onClose }: { id: string; onClose: () => void }) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['deliveries', 'one', id],
    queryFn: () => troupe.triggers.delivery({ params: { deliveryId: id } }),
  });
  const redeliver = useMutation({
    mutationFn: () => troupe.triggers.redeliver({ params: { deliveryId: id } }),
    onSuccess: () => {
      say('It is on its way again.');
      return client.invalidateQueries({ queryKey: ['deliveries'] });
    },
    onError: sayError,
  });
  return (
    <Dialog open onClose={onClose} title="Delivery" wide>
      <Loaded query={query}>
        {(delivery) => (
          <div className="flex flex-col gap-4">
            <div className="flex flex-wrap items-center gap-2">
              <Tag tone={deliveryTones[delivery.status]}>{deliveryWords[delivery.status]}</Tag>
              <span className="min-w-0 flex-1 font-mono text-xs break-all">
                {delivery.event} {delivery.path}
              </span>
              {(delivery.status === 'dead' || delivery.status === 'delivered') && !delivery.erased && (
                <Button size="small" busy={redeliver.isPending} onClick={() => redeliver.mutate()}>
                  Deliver again
                </Button>
              )}
            </div>
            <p className="text-xs text-muted">
              Of {delivery.trigger}, version {delivery.version}, made{' '}
              <When value={delivery.createdAt} exact />
              {delivery.depth > 0 && `, after ${delivery.depth} other triggers`}. Its id, which receivers get
              as webhook-id: <code className="font-mono break-all">{delivery.id}</code>
            </p>
            {delivery.error && (
              <Notice tone={delivery.status === 'dead' ? 'bad' : 'warn'}>
                {delivery.error.message}
                <code className="block font-mono text-2xs">{delivery.error.code}</code>
              </Notice>
            )}
            {delivery.nextAttemptAt && (
              <p className="text-sm text-muted">
                It is tried again <When value={delivery.nextAttemptAt} />.
              </p>
            )}
            <section aria-label="Attempts" className="flex flex-col gap-2">
              <h3 className="text-sm font-semibold">Attempts ({delivery.log.length})</h3>
              {delivery.log.map((attempt) => (
                <Attempt key={attempt.attempt} attempt={attempt} isLast={attempt === delivery.log.at(-1)} />
              ))}
            </section>
            <section aria-label="What changed" className="flex flex-col gap-2">
              <h3 className="text-sm font-semibold">What changed</h3>
              {delivery.erased ? (
                <p className="text-sm text-muted">What it was about is deleted.</p>
              ) : delivery.event === 'update' ? (
                <TextDiff
                  before={text(delivery.before)}
                  after={text(delivery.document)}
                  label="The document"
                />
              ) : (
                <CodeBlock label="The document" text={text(delivery.document)} />
              )}
            </section>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function Attempt({ attempt, isLast }: { attempt: Api.DeliveryAttempt; isLast: boolean }) {
  return (
    <details open={isLast} className="rounded-md border border-line">
      <summary className="flex flex-wrap items-center gap-2 rounded-md px-3 py-2 text-sm">
        <span className="font-medium">Attempt {attempt.attempt}</span>
        <Tag tone={attempt.error ? 'bad' : attempt.durationMs === null ? 'info' : 'good'}>
          {attempt.error ? attempt.error.code : attempt.durationMs === null ? 'under way' : 'made'}
        </Tag>
        <span className="text-xs text-muted">
          <When value={attempt.startedAt} exact />
          {attempt.durationMs !== null && `, ${formatDuration(attempt.durationMs)}`}
        </span>
      </summary>
      <div className="flex flex-col gap-2 border-t border-line p-3">
        {attempt.error && <p className="text-sm text-bad">{attempt.error.message}</p>}
        {attempt.request && <CodeBlock label="Request" text={text(attempt.request)} />}
        {attempt.response && <CodeBlock label="Answer" text={text(attempt.response)} />}
      </div>
    </details>
  );
}
