import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { cx } from '../../blocks/cx.ts';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
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
  const shareOf = `Share of ${byCost ? 'cost' : 'tokens'}`;
  return (
    <Table
      label={`Usage by ${by}`}
      head={
        <>
          <Th>{words[by]}</Th>
          <Th className="w-36 @5xl:w-48">{shareOf}</Th>
          {by !== 'model' && <Th className="text-right">Runs</Th>}
          {by !== 'model' && <Th className="text-right">Failed</Th>}
          <Th className="text-right">Tokens in</Th>
          <Th className="text-right">Tokens out</Th>
          <Th className="text-right">Cost</Th>
        </>
      }
    >
      {series.map(({ key, name, total: own }) => {
        const share = all > 0 ? (byCost ? own.cost : own.inputTokens + own.outputTokens) / all : 0;
        return (
          <Tr key={key ?? 'none'}>
            <Td className="max-w-48 truncate @5xl:max-w-64" title={name ?? key ?? undefined}>
              <Name id={key} name={name} by={by} />
            </Td>
            <Td label={shareOf}>
              <Share share={share} />
            </Td>
            {by !== 'model' && (
              <Td label="Runs" className="text-right tabular-nums">
                {formatNumber(own.started)}
              </Td>
            )}
            {by !== 'model' && (
              <Td label="Failed" className={cx('text-right tabular-nums', own.failed > 0 && 'text-bad')}>
                {formatNumber(own.failed)}
              </Td>
            )}
            <Td label="Tokens in" className="text-right tabular-nums">
              {formatNumber(own.inputTokens)}
            </Td>
            <Td label="Tokens out" className="text-right tabular-nums">
              {formatNumber(own.outputTokens)}
            </Td>
            <Td label="Cost" className="text-right tabular-nums">
              {formatCost(own.cost)}
            </Td>
          </Tr>
        );
      })}
    </Table>
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
