import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import type { ReactNode } from 'react';
import { Card, Page } from '../../blocks/page.tsx';
import { endedSeries, fillBuckets, TimeBars, TimeLine, tokenSeries } from '../../blocks/plots/index.ts';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { formatCost, formatNumber } from '../../data/format.ts';
import { Budgets } from './budgets.tsx';
import { type UsageSearch, windowOf } from './range.ts';
import { RangeBar } from './range-bar.tsx';
import { ShareTable } from './share-table.tsx';

export function UsagePage() {
  const search = useSearch({ from: '/usage' });
  const navigate = useNavigate();
  const change = (changed: { [Name in keyof UsageSearch]?: UsageSearch[Name] | undefined }) => {
    const next = Object.entries({ ...search, ...changed }).filter(([, value]) => value !== undefined);
    void navigate({ to: '/usage', search: Object.fromEntries(next) as UsageSearch, replace: true });
  };
  const { by: _, ...range } = search;
  const report = useQuery({
    queryKey: ['usage', 'report', range],
    queryFn: () => troupe.usage.read({ query: { ...windowOf(range), by: 'none' } }),
    refetchInterval: 30_000,
    placeholderData: (before) => before,
  });
  return (
    <Page title="Usage" about="Runs, tokens and cost over time, and what is left of budgets.">
      <div className="flex flex-col gap-4">
        <RangeBar search={search} onChange={change} />
        <Loaded query={report}>
          {(data) => (
            <>
              {report.error ? <Notice tone="bad">{(report.error as Error).message}</Notice> : null}
              <Totals total={data.total} />
              <Plots report={data} />
            </>
          )}
        </Loaded>
        <ShareTable
          range={range}
          by={search.by ?? 'agent'}
          onBy={(by) => change({ by: by === 'agent' ? undefined : by })}
        />
        <Budgets />
      </div>
    </Page>
  );
}

function Totals({ total }: { total: Api.UsageReport['total'] }) {
  const ended = total.completed + total.failed + total.canceled;
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
      <Total name="Runs made" value={formatNumber(total.started)} />
      <Total
        name="Failed"
        value={formatNumber(total.failed)}
        note={ended > 0 ? `${((total.failed / ended) * 100).toFixed(1)} % of those that ended` : undefined}
      />
      <Total
        name="Tokens"
        value={formatNumber(total.inputTokens + total.outputTokens)}
        note={`${formatNumber(total.inputTokens)} in, ${formatNumber(total.outputTokens)} out`}
      />
      <Total name="Cost" value={formatCost(total.cost)} note="in the unit of the models’ prices" />
    </dl>
  );
}

function Total({ name, value, note }: { name: string; value: string; note?: ReactNode }) {
  return (
    <div className="rounded-lg border border-line bg-surface px-4 py-3 shadow-low">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="text-xl font-semibold tabular-nums">{value}</dd>
      {note && <dd className="truncate text-2xs text-faint">{note}</dd>}
    </div>
  );
}

function Plots({ report }: { report: Api.UsageReport }) {
  const points = report.series[0]?.points ?? [];
  const buckets = fillBuckets(report, points, (point) => ({ ...numbersOf(point) }));
  return (
    <div className="grid gap-4 xl:grid-cols-2">
      <Card title="Runs that ended" className="xl:col-span-2">
        <TimeBars label="Runs that ended, over time" buckets={buckets} series={endedSeries} />
      </Card>
      <Card title="Tokens">
        <TimeBars label="Tokens over time" buckets={buckets} series={tokenSeries} />
      </Card>
      <Card title="Cost">
        <TimeLine
          label="Cost over time"
          buckets={buckets}
          series={[{ key: 'cost', label: 'Cost', tone: 'accent' }]}
          format={formatCost}
          height={200}
        />
      </Card>
    </div>
  );
}

function numbersOf({ at: _, ...numbers }: Api.UsagePoint): Record<string, number> {
  return numbers;
}
