import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import type { ReactNode } from 'react';
import { runAddress } from '../data/addresses.ts';
import { formatCost, formatNumber, shortId } from '../data/format.ts';
import { List, type ListState } from './list.tsx';

/** Runs in a narrow column, such as those of a session or a space. */
export function RunList({
  list,
  empty,
  nameOf,
}: {
  list: ListState<Api.Run & { asked?: string | null }>;
  empty: ReactNode;
  /** Whose run it is, where a list has those of several. */
  nameOf?: (run: Api.Run) => string;
}) {
  return (
    <List list={list} empty={empty}>
      {(runs) => (
        <ul className="divide-y divide-line">
          {runs.map((run) => (
            <li key={run.id}>
              <Link
                to={runAddress(run.id)}
                className="flex flex-col gap-1 px-4 py-2.5 text-sm hover:bg-hover"
              >
                <span className="flex min-w-0 items-center gap-2">
                  <span className="min-w-0 flex-1 truncate" title={run.asked ?? run.id}>
                    {nameOf && <span className="font-medium">{nameOf(run)} </span>}
                    {run.asked ?? <span className="font-mono text-xs text-muted">{shortId(run.id)}</span>}
                  </span>
                  <StatusBadge status={run.status} />
                </span>
                <span className="flex flex-wrap gap-x-3 text-xs text-faint tabular-nums">
                  <Time value={run.createdAt} />
                  <span>{run.step === 1 ? '1 step' : `${run.step} steps`}</span>
                  <span>{formatNumber(run.usage.inputTokens + run.usage.outputTokens)} tokens</span>
                  {run.cost > 0 && <span>{formatCost(run.cost)}</span>}
                </span>
                {run.error && (
                  <span className="truncate text-xs text-bad" title={run.error.message}>
                    {run.error.message}
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </List>
  );
}
