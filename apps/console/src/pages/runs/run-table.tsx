import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { Api } from '@troupe/sdk';
import { Duration, StatusBadge, Time } from '@troupe/ui';
import { memo, type RefObject, useEffect, useRef } from 'react';
import { cx } from '../../blocks/cx.ts';
import { Th } from '../../blocks/table.tsx';
import { formatCost, formatNumber } from '../../data/format.ts';
import { hasEnded } from './filter.ts';
import { doorWord, type Worked } from './names.ts';

const ROW = 41;

/** Runs as a table of which only the rows in sight are in the page. Beyond the end of what is loaded it asks for more. */
export function RunTable({
  runs,
  selected,
  onSelect,
  onSelectAll,
  current,
  whoWorks,
  scroller,
  onEnd,
}: {
  runs: Api.ListedRun[];
  selected: ReadonlySet<string>;
  onSelect: (id: string, isSelected: boolean) => void;
  onSelectAll: (isSelected: boolean) => void;
  /** The one that the keyboard is at. */
  current: string | null;
  whoWorks: (run: Worked) => string;
  scroller: RefObject<HTMLDivElement | null>;
  onEnd: () => void;
}) {
  const virtual = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: (index) => runs[index]!.id,
  });
  const rows = virtual.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    if (runs.length > 0 && last >= runs.length - 20) end.current();
  }, [last, runs.length]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the keyboard moves, not when runs come
  useEffect(() => {
    const index = current === null ? -1 : runs.findIndex(({ id }) => id === current);
    if (index < 0) return;
    virtual.scrollToIndex(index);
    // The row may have to be drawn first.
    const frame = requestAnimationFrame(() => {
      const link = scroller.current?.querySelector<HTMLElement>(`[data-run="${current}"] a`);
      link?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [current]);

  const above = rows[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (rows.at(-1)?.end ?? 0);
  const isAll = runs.length > 0 && runs.every(({ id }) => selected.has(id));
  return (
    <table className="w-full table-fixed border-collapse text-sm" aria-rowcount={runs.length + 1}>
      <caption className="sr-only">Runs</caption>
      <colgroup>
        <col className="w-10" />
        <col className="w-12 sm:w-44" />
        <col />
        <col className="hidden w-40 md:table-column xl:w-44" />
        <col className="hidden w-24 lg:table-column" />
        <col className="hidden w-14 xl:table-column" />
        <col className="hidden w-18 lg:table-column" />
        <col className="hidden w-16 xl:table-column" />
        <col className="hidden w-24 sm:table-column" />
        <col className="w-26" />
      </colgroup>
      <thead className="sticky top-0 z-10 bg-surface">
        <tr className="text-left text-xs text-faint shadow-[inset_0_-1px_0_var(--troupe-line)]">
          <Th className="pr-0">
            <input
              type="checkbox"
              aria-label="Select all that are loaded"
              className="size-4 align-middle accent-[var(--troupe-accent)]"
              checked={isAll}
              onChange={({ target }) => onSelectAll(target.checked)}
            />
          </Th>
          <Th>
            <span className="max-sm:sr-only">Status</span>
          </Th>
          <Th className="max-sm:px-1">Asked</Th>
          <Th className="hidden md:table-cell">Agent or network</Th>
          <Th className="hidden lg:table-cell">Door</Th>
          <Th className="hidden px-2 text-right xl:table-cell">Steps</Th>
          <Th className="hidden px-2 text-right lg:table-cell">Tokens</Th>
          <Th className="hidden px-2 text-right xl:table-cell">Cost</Th>
          <Th className="hidden px-2 text-right sm:table-cell">Duration</Th>
          <Th className="text-right">Made</Th>
        </tr>
      </thead>
      <tbody>
        {above > 0 && <Spacer height={above} />}
        {rows.map(({ index, key }) => (
          <RunRow
            key={key}
            run={runs[index]!}
            index={index}
            isSelected={selected.has(runs[index]!.id)}
            isCurrent={runs[index]!.id === current}
            onSelect={onSelect}
            who={whoWorks(runs[index]!)}
          />
        ))}
        {below > 0 && <Spacer height={below} />}
      </tbody>
    </table>
  );
}

function Spacer({ height }: { height: number }) {
  return (
    <tr style={{ height }}>
      <td className="p-0" />
    </tr>
  );
}

const RunRow = memo(function RunRow({
  run,
  index,
  isSelected,
  isCurrent,
  onSelect,
  who,
}: {
  run: Api.ListedRun;
  index: number;
  isSelected: boolean;
  isCurrent: boolean;
  onSelect: (id: string, isSelected: boolean) => void;
  who: string;
}) {
  const asked = askedOf(run);
  const cell = 'truncate px-4 align-middle';
  const number = 'truncate px-2 text-right align-middle tabular-nums text-muted';
  return (
    <tr
      data-run={run.id}
      aria-rowindex={index + 2}
      style={{ height: ROW }}
      className={cx(
        'border-b border-line',
        isSelected ? 'bg-accent-soft' : isCurrent ? 'bg-hover' : 'hover:bg-hover',
      )}
    >
      <td className="pl-4">
        <input
          type="checkbox"
          aria-label={`Select ${asked}`}
          className="size-4 align-middle accent-[var(--troupe-accent)]"
          checked={isSelected}
          onChange={({ target }) => onSelect(run.id, target.checked)}
        />
      </td>
      <td className={cx(cell, 'max-sm:px-3')}>
        <StatusBadge status={run.status} className="max-sm:hidden" />
        <StatusBadge status={run.status} compact className="sm:hidden" />
      </td>
      <td className={cx(cell, 'max-sm:px-1')}>
        <Link
          to="/runs/$runId"
          params={{ runId: run.id }}
          className="rounded-sm font-medium hover:underline"
          title={asked}
        >
          {asked}
        </Link>
        {run.error && (
          <span className="ml-2 font-mono text-2xs text-bad" title={run.error.message}>
            {run.error.code}
          </span>
        )}
      </td>
      <td className={cx(cell, 'hidden text-muted md:table-cell')} title={who}>
        {who}
      </td>
      <td className={cx(cell, 'hidden text-muted lg:table-cell')}>{doorWord(run.door)}</td>
      <td className={cx(number, 'hidden xl:table-cell')}>{formatNumber(run.step)}</td>
      <td className={cx(number, 'hidden lg:table-cell')}>
        {formatNumber(run.usage.inputTokens + run.usage.outputTokens)}
      </td>
      <td className={cx(number, 'hidden xl:table-cell')}>{formatCost(run.cost)}</td>
      <td className={cx(number, 'hidden sm:table-cell')}>
        <RunDuration run={run} />
      </td>
      <td className="truncate px-4 text-right align-middle text-muted">
        <Time value={run.createdAt} />
      </td>
    </tr>
  );
});

/** From when a worker took it up to its end, or to now. */
export function RunDuration({ run }: { run: Api.Run }) {
  const end = run.completedAt ?? run.canceledAt;
  if (!run.startedAt) return <>–</>;
  if (hasEnded(run) && !end) return <>–</>;
  return <Duration from={run.startedAt} to={hasEnded(run) ? end : null} />;
}

/** What it was asked, or what began it where that is no text. */
export function askedOf(run: { asked?: string | null; triggerType: string; id: string }): string {
  if (run.asked?.trim()) return run.asked.trim();
  const began: Record<string, string> = {
    plan: 'Begun by a plan',
    service: 'Begun by a service',
    network: 'A run of a network',
    task: 'Begun by a task',
    fork: 'A fork',
  };
  return began[run.triggerType] ?? `Run ${run.id.slice(-6)}`;
}
