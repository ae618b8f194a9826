import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RefreshCw, Send } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Select } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { When } from '../../blocks/when.tsx';
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
      say('It is on its way again.');
      return client.invalidateQueries({ queryKey: ['deliveries'] });
    },
    onError: sayError,
  });
  const again = filter.status === 'delivered' ? 'delivered' : 'dead';
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <Select
          aria-label="Status"
          className="max-w-40"
          value={filter.status ?? ''}
          onChange={({ target }) =>
            onFilter({ status: DELIVERY_STATUSES.find((one) => one === target.value) })
          }
        >
          <option value="">All</option>
          {DELIVERY_STATUSES.map((status) => (
            <option key={status} value={status}>
              {deliveryWords[status]}
            </option>
          ))}
        </Select>
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
        <span className="flex-1" />
        <Button icon={<RefreshCw size={14} aria-hidden="true" />} onClick={() => setRedoes(true)}>
          Deliver many again…
        </Button>
      </div>
      <Card flush>
        {list.items === undefined ? (
          list.error ? (
            <Failure error={list.error} retry={list.refetch} />
          ) : (
            <Loading />
          )
        ) : list.items.length === 0 ? (
          <Empty
            icon={<Send size={20} aria-hidden="true" />}
            title={filter.status || filter.document ? 'No delivery fits' : 'No deliveries yet'}
          >
            A delivery is made with each change that fits a rule, and is kept with every attempt: for 7 days,
            or 30 where it was given up.
          </Empty>
        ) : (
          <>
            <Table
              label="Deliveries"
              head={
                <>
                  <Th>Status</Th>
                  {!trigger && <Th>Trigger</Th>}
                  <Th>Document</Th>
                  <Th className="@2xl:@max-5xl:hidden text-right">Attempts</Th>
                  <Th className="@2xl:@max-5xl:hidden">Last</Th>
                  <Th>Made</Th>
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                </>
              }
            >
              {list.items.map((delivery) => (
                <Tr key={delivery.id}>
                  <Td>
                    <Tag tone={deliveryTones[delivery.status]}>{deliveryWords[delivery.status]}</Tag>
                  </Td>
                  {!trigger && (
                    <Td label="Trigger" className="max-w-32 @5xl:max-w-40 truncate">
                      <button
                        type="button"
                        className="rounded-sm hover:underline"
                        onClick={() => onFilter({ trigger: delivery.trigger })}
                      >
                        {delivery.trigger}
                      </button>
                    </Td>
                  )}
                  <Td label="Document" className="max-w-52 @5xl:max-w-80">
                    <button
                      type="button"
                      title={delivery.path}
                      className="block max-w-full truncate rounded-sm font-mono text-xs hover:underline"
                      onClick={() => onFilter({ delivery: delivery.id })}
                    >
                      {delivery.event} {delivery.path}
                    </button>
                  </Td>
                  <Td label="Attempts" className="@2xl:@max-5xl:hidden text-right tabular-nums">
                    {delivery.attempts}
                  </Td>
                  <Td
                    label="Last"
                    className="@2xl:@max-5xl:hidden max-w-64 truncate text-xs text-muted"
                    title={delivery.error?.message}
                  >
                    {delivery.error
                      ? delivery.error.message
                      : delivery.result
                        ? JSON.stringify(delivery.result)
                        : '–'}
                  </Td>
                  <Td label="Made" className="text-muted">
                    <When value={delivery.createdAt} />
                  </Td>
                  <Td className="w-px whitespace-nowrap">
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
                  </Td>
                </Tr>
              ))}
            </Table>
            <MoreButton list={list} />
          </>
        )}
      </Card>
      {filter.delivery && (
        <DeliveryDetails id={filter.delivery} onClose={() => onFilter({ delivery: undefined })} />
      )}
      <Confirm
        open={redoes}
        onClose={() => setRedoes(false)}
        title={
          again === 'dead'
            ? 'Deliver again all that were given up?'
            : 'Deliver again all that were delivered?'
        }
        label="Deliver again"
        act={async () => {
          const { redelivered } = await troupe.triggers.redeliverMany({
            body: {
              ...(of ? { trigger: of } : {}),
              ...(filter.document ? { document: filter.document } : {}),
              status: again,
            },
          });
          say(`${redelivered} ${redelivered === 1 ? 'is' : 'are'} on the way again.`);
          await client.invalidateQueries({ queryKey: ['deliveries'] });
        }}
      >
        {of ? `Of ${of}, ` : 'Of all triggers, '}
        {filter.document ? `of the document ${filter.document}, ` : ''}1,000 at most, as the triggers are now
        and under the same ids.{' '}
        {again === 'dead' ? 'To do so with those that were delivered, filter by them first.' : ''}
      </Confirm>
    </div>
  );
}
