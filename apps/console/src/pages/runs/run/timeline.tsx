import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { RunTimeline, StatusBadge, Time } from '@troupe/ui';
import { useMemo, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Empty, Loaded, Notice } from '../../../blocks/states.tsx';
import { formatDuration } from '../../../data/format.ts';
import type { RunSearch } from '../search.ts';
import { timelineQuery } from './queries.ts';
import type { ChangeSearch } from './run.tsx';
import { rowsOf, type TimelineRow, timeByKind } from './spans.ts';

/** Where the time of a run went. Runs that it began can be opened in place. */
export default function Timeline({
  runId,
  search,
  onChange,
}: {
  runId: string;
  search: RunSearch;
  onChange: ChangeSearch;
}) {
  const timeline = useQuery(timelineQuery(runId));
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const opened = [...open];
  const inner = useQueries({ queries: opened.map((id) => timelineQuery(id)) });
  const nested = new Map(
    opened.flatMap((id, index) => (inner[index]?.data ? [[id, inner[index].data]] : [])),
  );
  const key = inner.map(({ dataUpdatedAt }) => dataUpdatedAt).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is nested is known by when it was read
  const rows = useMemo(() => (timeline.data ? rowsOf(timeline.data, nested) : []), [timeline.data, key]);
  const selected = rows.find(({ id }) => id === search.span);
  const toggle = (id: string) =>
    setOpen((before) => new Set(before.has(id) ? opened.filter((each) => each !== id) : [...opened, id]));
  return (
    <Loaded query={timeline}>
      {(data) =>
        rows.length === 0 ? (
          <Empty title="Nothing has happened yet">Spans appear as soon as a worker takes the run.</Empty>
        ) : (
          <div className="flex flex-col gap-4">
            <Shares spans={rows} />
            {data.cut && <Notice>Only the first part is shown: there is more than fits here.</Notice>}
            <Card flush>
              <RunTimeline
                spans={rows}
                selectedId={search.span ?? null}
                onSelect={({ id }) => onChange({ span: id })}
                height={480}
                label="Timeline of the run"
              />
            </Card>
            {selected ? (
              <Details
                row={selected}
                isOpen={selected.runId !== null && open.has(selected.runId)}
                onToggle={toggle}
              />
            ) : (
              <p className="text-sm text-muted">Select a span to see more of it.</p>
            )}
          </div>
        )
      }
    </Loaded>
  );
}

/** How much of the time each kind took. */
function Shares({ spans }: { spans: TimelineRow[] }) {
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
      {timeByKind(spans).map(([word, ms]) => (
        <div key={word} className="flex gap-1.5">
          <dt className="text-muted">{word}</dt>
          <dd className="tabular-nums">{formatDuration(ms)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Details({
  row,
  isOpen,
  onToggle,
}: {
  row: TimelineRow;
  isOpen: boolean;
  onToggle: (runId: string) => void;
}) {
  const { span, ownerId } = row;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          {row.name} <StatusBadge status={span.status} />
        </span>
      }
      actions={
        <span className="flex items-center gap-2">
          {row.runId && (
            <Button size="small" onClick={() => onToggle(row.runId!)}>
              {isOpen ? 'Hide what it did' : 'Show what it did'}
            </Button>
          )}
          {row.runId && (
            <Link
              to="/runs/$runId"
              params={{ runId: row.runId }}
              search={{ tab: 'timeline' }}
              className="text-xs text-accent-strong hover:underline"
            >
              To the run
            </Link>
          )}
          {span.step !== null && span.step > 0 && (
            <Link
              to="/runs/$runId"
              params={{ runId: ownerId }}
              search={{ tab: 'steps', step: span.step }}
              className="text-xs text-accent-strong hover:underline"
            >
              To step {span.step}
            </Link>
          )}
        </span>
      }
    >
      {span.error ? (
        <Notice tone="bad">
          {span.error.message} <span className="font-mono text-2xs">{span.error.code}</span>
        </Notice>
      ) : (
        <p className="text-sm text-muted">
          <Time value={span.startedAt} format="exact" /> to{' '}
          <Time value={span.endedAt} format="exact" empty="now" />
        </p>
      )}
    </Card>
  );
}
