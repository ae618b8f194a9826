import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RefreshCw, Send } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList, Toolbar } from '../../blocks/list.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { DeliveryDetails } from './delivery-details.tsx';
import { DELIVERY_STATUSES, deliveryTones, deliveryWords } from './words.ts';

interface Filter {
  trigger?: string | undefined;
  status?: (typeof DELIVERY_STATUSES)[number] | undefined;
  document?: string | undefined;
  delivery?: string | undefined;
}

/** Deliveries of one trigger, or of all. */
export function DeliveryList({
  trigger,
  filter,
  onFilter,
}: {
  trigger?: string;
  filter: Filter;
  onFilter: (part: Filter) => void;
}) {
  const [redoes, setRedoes] = useState(false);
  const client = useQueryClient();
  useLive('deliveries');
  const of = trigger ?? filter.trigger;
  const asked = {
    ...(of ? { trigger: of } : {}),
    ...(filter.status ? { status: filter.status } : {}),
    ...(filter.document ? { document: filter.document } : {}),
  };
  const list = useCursorPages(['deliveries', 'list', asked], (page) =>
    troupe.triggers.deliveries({ query: { ...page, ...asked } }),
  );
  const redeliver = useMutation({
    mutationFn: (deliveryId: string) => troupe.triggers.redeliver({ params: { deliveryId } }),
    onSuccess: () => {
      say('Queued the delivery.');
      return client.invalidateQueries({ queryKey: ['deliveries'] });
    },
    onError: sayError,
  });
  const again = filter.status === 'delivered' ? 'delivered' : 'dead';
  return (
    <div className="flex flex-col gap-4">
      <Toolbar
        actions={
          <Button icon={RefreshCw} onClick={() => setRedoes(true)}>
            Redeliver many…
          </Button>
        }
      >
        <FilterSelect
          label="Status"
          all="All"
          value={filter.status}
          onChange={(status) => onFilter({ status })}
          options={DELIVERY_STATUSES.map((status) => [status, deliveryWords[status]])}
        />
        <SearchBox
          label="Document, by id or path"
          value={filter.document ?? ''}
          onSearch={(text) => onFilter({ document: text || undefined })}
          className="w-72 max-w-full"
        />
        {!trigger && filter.trigger && (
          <Button size="small" kind="quiet" onClick={() => onFilter({ trigger: undefined })}>
            Of {filter.trigger}: show all
          </Button>
        )}
      </Toolbar>
      <TableList
        list={list}
        empty={
          <Empty
            icon={Send}
            title={filter.status || filter.document ? 'No deliveries match' : 'No deliveries yet'}
          >
            A delivery is made with each change that fits a rule, and is kept with every attempt: for 7 days,
            or 30 where it was given up.
          </Empty>
        }
        label="Deliveries"
        keyOf={(delivery) => delivery.id}
        columns={[
          {
            name: 'Status',
            cell: (delivery) => (
              <Tag tone={deliveryTones[delivery.status]}>{deliveryWords[delivery.status]}</Tag>
            ),
          },
          !trigger && {
            name: 'Trigger',
            cellClass: 'max-w-32 @5xl:max-w-40 truncate',
            cell: (delivery) => (
              <button
                type="button"
                className="rounded-sm hover:underline"
                onClick={() => onFilter({ trigger: delivery.trigger })}
              >
                {delivery.trigger}
              </button>
            ),
          },
          {
            name: 'Document',
            cellClass: 'max-w-52 @5xl:max-w-80',
            cell: (delivery) => (
              <button
                type="button"
                title={delivery.path}
                className="block max-w-full truncate rounded-sm font-mono text-xs hover:underline"
                onClick={() => onFilter({ delivery: delivery.id })}
              >
                {delivery.event} {delivery.path}
              </button>
            ),
          },
          {
            name: 'Attempts',
            isRight: true,
            className: '@2xl:@max-5xl:hidden',
            cell: (delivery) => delivery.attempts,
          },
          {
            name: 'Last',
            className: '@2xl:@max-5xl:hidden',
            cellClass: 'max-w-64 truncate text-xs text-muted',
            title: (delivery) => delivery.error?.message,
            cell: (delivery) =>
              delivery.error
                ? delivery.error.message
                : delivery.result
                  ? JSON.stringify(delivery.result)
                  : '–',
          },
          { name: 'Made', time: (delivery) => delivery.createdAt },
          {
            name: 'Actions',
            isAction: true,
            cell: (delivery) => (
              <>
                <Button size="small" kind="quiet" onClick={() => onFilter({ delivery: delivery.id })}>
                  Details
                </Button>
                {(delivery.status === 'dead' || delivery.status === 'delivered') && !delivery.erased && (
                  <Button
                    size="small"
                    kind="quiet"
                    busy={redeliver.isPending && redeliver.variables === delivery.id}
                    onClick={() => redeliver.mutate(delivery.id)}
                  >
                    Deliver again
                  </Button>
                )}
              </>
            ),
          },
        ]}
      />
      {filter.delivery && (
        <DeliveryDetails id={filter.delivery} onClose={() => onFilter({ delivery: undefined })} />
      )}
      <Confirm
        open={redoes}
        onClose={() => setRedoes(false)}
        title={again === 'dead' ? 'Redeliver all dead deliveries?' : 'Redeliver all delivered ones?'}
        label="Redeliver"
        changes="deliveries"
        act={async () => {
          const { redelivered } = await troupe.triggers.redeliverMany({
            body: {
              ...(of ? { trigger: of } : {}),
              ...(filter.document ? { document: filter.document } : {}),
              status: again,
            },
          });
          say(`Queued ${redelivered} ${redelivered === 1 ? 'delivery' : 'deliveries'}.`);
        }}
      >
        {of ? `Of ${of}, ` : 'Of all triggers, '}
        {filter.document ? `of the document ${filter.document}, ` : ''}at most 1,000, with the current
        triggers and the same ids.{' '}
        {again === 'dead' ? 'To redeliver delivered ones, filter by that status first.' : ''}
      </Confirm>
    </div>
  );
}
