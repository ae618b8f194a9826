import { Card } from '../../../blocks/page.tsx';
import { Table } from '../../../blocks/table.tsx';
import { formatCost, formatDuration, formatNumber } from '../../../data/format.ts';
import { statusWords } from '../filter.ts';
import { doorWord, useWhoWorks } from '../names.ts';
import type { RunDetails } from '../run/queries.ts';

interface Fact {
  name: string;
  one: string;
  other: string;
  /** How much more or less the second has, where that is a number. */
  change?: string;
}

/** What differs is marked; of numbers, by how much. */
export function FactsTable({ one, other }: { one: RunDetails; other: RunDetails }) {
  const whoWorks = useWhoWorks();
  const text = (name: string, of: (run: RunDetails) => string): Fact => ({
    name,
    one: of(one),
    other: of(other),
  });
  const number = (
    name: string,
    of: (run: RunDetails) => number | null,
    format: (value: number) => string,
  ): Fact => {
    const [before, after] = [of(one), of(other)];
    const shown = (value: number | null) => (value === null ? '–' : format(value));
    const fact = { name, one: shown(before), other: shown(after) };
    if (before === null || after === null || before === after) return fact;
    return { ...fact, change: changeOf(before, after, format) };
  };
  const facts: Fact[] = [
    text('Status', ({ status }) => statusWords[status]),
    text('Agent or network', whoWorks),
    text('Door', ({ door }) => doorWord(door)),
    text('Models', ({ steps }) => [...new Set(steps.map(({ model }) => model))].join(', ') || '–'),
    number('Steps', ({ step }) => step, formatNumber),
    number('Tool calls', ({ calls }) => calls.length, formatNumber),
    number('Tokens read', ({ usage }) => usage.inputTokens, formatNumber),
    number('Tokens written', ({ usage }) => usage.outputTokens, formatNumber),
    number('Cost', ({ cost }) => cost, formatCost),
    number('Duration', durationOf, formatDuration),
  ];
  return (
    <Card title="Facts" flush>
      <Table
        narrow="scroll"
        label="Facts of both runs"
        items={facts}
        keyOf={({ name }) => name}
        columns={[
          {
            name: 'Fact',
            head: ' ',
            isHeader: true,
            cellClass: 'text-left font-medium whitespace-nowrap text-muted',
            cell: ({ name }) => name,
          },
          { name: 'A', cellClass: 'tabular-nums', cell: (fact) => fact.one },
          {
            name: 'B',
            cellClass: 'tabular-nums',
            cell: ({ one: before, other: after }) =>
              before === after ? after : <span className="font-semibold">{after}</span>,
          },
          {
            name: 'Difference',
            cellClass: 'text-muted tabular-nums',
            cell: ({ one: before, other: after, change }) => change ?? (before === after ? '' : 'differs'),
          },
        ]}
      />
    </Card>
  );
}

function durationOf({ startedAt, completedAt, canceledAt }: RunDetails): number | null {
  const end = completedAt ?? canceledAt;
  return startedAt && end ? Date.parse(end) - Date.parse(startedAt) : null;
}

function changeOf(before: number, after: number, format: (value: number) => string): string {
  const sign = after > before ? '+' : '−';
  const share = before > 0 ? ` (${sign}${Math.round((Math.abs(after - before) / before) * 100)} %)` : '';
  return `${sign}${format(Math.abs(after - before))}${share}`;
}
