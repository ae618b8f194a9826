import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { cx } from '../../blocks/cx.ts';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { Table } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { formatCost, formatNumber } from '../../data/format.ts';
import { type UsageSearch, windowOf } from './range.ts';

type By = 'agent' | 'model' | 'network';
const words: Record<By, string> = { agent: 'Agent', model: 'Model', network: 'Network' };

/** Who used it: each with its share of all. */
export function ShareTable({ range, by, onBy }: { range: UsageSearch; by: By; onBy: (by: By) => void }) {
  const report = useQuery({
    queryKey: ['usage', 'by', by, range],
    queryFn: () => troupe.usage.read({ query: { ...windowOf(range), by } }),
    refetchInterval: 30_000,
  });
  return (
    <Card
      flush
      title={`By ${by}`}
      actions={
        <fieldset className="flex gap-1 rounded-md bg-sunken p-0.5">
          <legend className="sr-only">Told apart by</legend>
          {(Object.keys(words) as By[]).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={by === each}
              onClick={() => onBy(each)}
              className={cx(
                'rounded-md px-2 py-1 text-xs font-medium',
                by === each ? 'bg-surface text-text shadow-low' : 'text-muted hover:text-text',
              )}
            >
              {words[each]}
            </button>
          ))}
        </fieldset>
      }
    >
      <Loaded query={report}>
        {({ series, total }) => {
          const named = by === 'network' ? series.filter(({ key }) => key !== null) : series;
          if (named.length === 0) return <Empty title="Nothing in this time" className="py-8!" />;
          return <Rows series={named} total={total} by={by} />;
        }}
      </Loaded>
    </Card>
  );
}

function Rows({ series, total, by }: { series: Api.UsageSeries[]; total: Api.UsageReport['total']; by: By }) {
  // Where nothing has a price, tokens tell who used most.
  const byCost = total.cost > 0;
  const all = byCost ? total.cost : total.inputTokens + total.outputTokens;
  return (
    <Table
      label={`Usage by ${by}`}
      items={series}
      keyOf={({ key }) => key ?? 'none'}
      columns={[
        {
          name: words[by],
          cellClass: 'max-w-48 truncate @5xl:max-w-64',
          title: ({ key, name }) => name ?? key ?? undefined,
          cell: ({ key, name }) => <Name id={key} name={name} by={by} />,
        },
        {
          name: `Share of ${byCost ? 'cost' : 'tokens'}`,
          className: 'w-36 @5xl:w-48',
          cell: ({ total: own }) => (
            <Share share={all > 0 ? (byCost ? own.cost : own.inputTokens + own.outputTokens) / all : 0} />
          ),
        },
        by !== 'model' && {
          name: 'Runs',
          isRight: true,
          cell: ({ total: own }) => formatNumber(own.started),
        },
        by !== 'model' && {
          name: 'Failed',
          isRight: true,
          cell: ({ total: own }) => (
            <span className={cx(own.failed > 0 && 'text-bad')}>{formatNumber(own.failed)}</span>
          ),
        },
        { name: 'Tokens in', isRight: true, cell: ({ total: own }) => formatNumber(own.inputTokens) },
        { name: 'Tokens out', isRight: true, cell: ({ total: own }) => formatNumber(own.outputTokens) },
        { name: 'Cost', isRight: true, cell: ({ total: own }) => formatCost(own.cost) },
      ]}
    />
  );
}

function Name({ id, name, by }: { id: string | null; name: string | null; by: By }) {
  if (by === 'model') return <span>{name ?? id ?? 'none'}</span>;
  if (id === null) return <span className="text-muted">Of no {by}</span>;
  return (
    <Link
      to="/runs"
      search={by === 'agent' ? { agentId: id } : { networkId: id }}
      className="rounded-sm hover:underline"
    >
      {name ?? `${words[by]} that is gone`}
    </Link>
  );
}

export function Share({ share, tone = 'accent' }: { share: number; tone?: 'accent' | 'warn' | 'bad' }) {
  const tones = { accent: 'bg-accent', warn: 'bg-warn', bad: 'bg-bad' };
  const percent = Math.min(100, share * 100);
  return (
    <span className="flex items-center gap-2">
      <span aria-hidden="true" className="h-1.5 min-w-16 flex-1 overflow-hidden rounded-full bg-sunken">
        <span className={cx('block h-full rounded-full', tones[tone])} style={{ width: `${percent}%` }} />
      </span>
      <span className="w-12 text-right text-xs text-muted tabular-nums">
        {share > 0 && percent < 1 ? '<1' : Math.round(share * 100)} %
      </span>
    </span>
  );
}
