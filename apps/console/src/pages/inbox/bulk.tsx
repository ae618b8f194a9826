import { useMutation } from '@tanstack/react-query';
import { Button } from '../../blocks/button.tsx';
import { say } from '../../blocks/toast.tsx';
import { useSettling } from './decide.ts';
import type { InboxItem } from './items.ts';

/** Several at once: each by itself, and what was refused is said and stays. */
export function useBulk(onDone: () => void) {
  const { decide, redeliver } = useSettling();
  const each = async (items: InboxItem[], word: string, act: (item: InboxItem) => Promise<void> | null) => {
    const acts = items.flatMap((item) => act(item) ?? []);
    const ends = await Promise.allSettled(acts);
    const refused = ends.filter((end) => end.status === 'rejected');
    if (refused.length > 0) {
      const why = refused[0]!.reason instanceof Error ? refused[0]!.reason.message : '';
      say(`${refused.length} of ${ends.length} could not be ${word}. ${why}`, 'bad');
    } else if (ends.length > 0) say(ends.length === 1 ? `It is ${word}.` : `${ends.length} are ${word}.`);
    onDone();
  };
  const approve = useMutation({
    mutationFn: (items: InboxItem[]) =>
      each(items, 'approved', (item) =>
        item.kind === 'approval'
          ? decide(item.call, { decision: 'approve', argumentsHash: item.call.argumentsHash })
          : null,
      ),
  });
  const reject = useMutation({
    mutationFn: ({ items, reason }: { items: InboxItem[]; reason: string }) =>
      each(items, 'rejected', (item) =>
        item.kind === 'approval'
          ? decide(item.call, { decision: 'reject', ...(reason ? { reason } : {}) })
          : null,
      ),
  });
  const deliver = useMutation({
    mutationFn: (items: InboxItem[]) =>
      each(items, 'delivered again', (item) =>
        item.kind === 'delivery' && !item.delivery.erased ? redeliver(item.delivery.id) : null,
      ),
  });
  return { approve, reject, deliver };
}

export function BulkBar({
  items,
  bulk,
  onReject,
  onClear,
}: {
  items: InboxItem[];
  bulk: ReturnType<typeof useBulk>;
  onReject: () => void;
  onClear: () => void;
}) {
  const approvals = items.filter(({ kind }) => kind === 'approval').length;
  const deliveries = items.filter(({ kind }) => kind === 'delivery').length;
  return (
    <section
      aria-label="Those selected"
      className="flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-4 py-2 text-sm"
    >
      <span className="font-medium tabular-nums">{items.length} selected</span>
      {approvals > 0 && (
        <>
          <Button
            kind="primary"
            size="small"
            busy={bulk.approve.isPending}
            onClick={() => bulk.approve.mutate(items)}
          >
            Approve {approvals}
          </Button>
          <Button kind="danger" size="small" onClick={onReject}>
            Reject {approvals}
          </Button>
        </>
      )}
      {deliveries > 0 && (
        <Button size="small" busy={bulk.deliver.isPending} onClick={() => bulk.deliver.mutate(items)}>
          Redeliver {deliveries}
        </Button>
      )}
      {approvals + deliveries === 0 && <span className="text-muted">These are settled one by one.</span>}
      <Button kind="quiet" size="small" className="ml-auto" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}
