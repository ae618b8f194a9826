import { cx } from '../../../blocks/cx.ts';
import { Card } from '../../../blocks/page.tsx';
import { Table, Td, Th, Tr } from '../../../blocks/table.tsx';
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
        head={
          <>
            <Th> </Th>
            <Th>A</Th>
            <Th>B</Th>
            <Th>Difference</Th>
          </>
        }
      >
        {facts.map(({ name, one: before, other: after, change }) => {
          const isOther = before !== after;
          return (
            <Tr key={name}>
              <Th scope="row" className="text-left text-muted">
                {name}
              </Th>
              <Td className="tabular-nums">{before}</Td>
              <Td className={cx('tabular-nums', isOther && 'font-semibold')}>{after}</Td>
              <Td className="text-muted tabular-nums">{change ?? (isOther ? 'differs' : '')}</Td>
            </Tr>
          );
        })}
      </Table>
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
