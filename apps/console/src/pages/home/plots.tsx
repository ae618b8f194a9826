import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Card } from '../../blocks/page.tsx';
import { endedSeries, fillBuckets, TimeBars, tokenSeries } from '../../blocks/plots/index.ts';
import { Loaded } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { formatCost, formatNumber } from '../../data/format.ts';

/** The last 24 hours: how many runs ended how, and what they cost; where models have no prices, what they read and wrote. */
export default function Plots() {
  const usage = useQuery({
    queryKey: ['runs', 'usage', 'day'],
    queryFn: () => troupe.usage.read({ query: { interval: 'hour' } }),
  });
  return (
    <Loaded query={usage}>
      {(report) => {
        const { total } = report;
        const hasCost = total.cost > 0;
        const points = report.series[0]?.points ?? [];
        const buckets = fillBuckets(report, points, ({ at: _, ...values }) => values);
        return (
          <div className="grid gap-5 xl:grid-cols-2">
            <Card
              title="Runs, last 24 hours"
              actions={
                <span className="text-xs text-muted tabular-nums">{formatNumber(total.started)} started</span>
              }
            >
              <TimeBars label="Runs that ended, by the hour" buckets={buckets} series={endedSeries} />
            </Card>
            <Card
              title={hasCost ? 'Cost, last 24 hours' : 'Tokens, last 24 hours'}
              actions={
                <Link to="/usage" className="rounded-sm text-xs text-accent-strong hover:underline">
                  {hasCost ? formatCost(total.cost) : formatNumber(total.inputTokens + total.outputTokens)} in
                  all
                </Link>
              }
            >
              {hasCost ? (
                <TimeBars
                  label="Cost by the hour"
                  buckets={buckets}
                  series={[{ key: 'cost', label: 'Cost', tone: 'info' }]}
                  format={formatCost}
                />
              ) : (
                <TimeBars label="Tokens by the hour" buckets={buckets} series={tokenSeries} />
              )}
            </Card>
          </div>
        );
      }}
    </Loaded>
  );
}
