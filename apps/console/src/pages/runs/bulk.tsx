import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Ban, CircleCheck, CircleX, RotateCcw, X } from 'lucide-react';
import { useState } from 'react';
import { Button, Spinner } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { troupe } from '../../data/client.ts';
import { hasEnded } from './filter.ts';
import { askedOf } from './run-table.tsx';

const AT_ONCE = 4;

const acts = {
  cancel: {
    label: 'Cancel',
    title: 'Cancel runs',
    about: 'What they did stays. They stop as soon as their worker hears of it.',
    fits: (run: Api.Run) => !hasEnded(run),
    act: (runId: string) => troupe.runs.cancel({ params: { runId } }),
    done: 'Canceled',
  },
  retry: {
    label: 'Retry',
    title: 'Retry runs',
    about: 'They go on after their last step, with their agents as these are now.',
    fits: (run: Api.Run) => run.status === 'failed' || run.status === 'canceled',
    act: (runId: string) => troupe.runs.retry({ params: { runId }, body: {} }),
    done: 'Queued again',
  },
};
export type Act = keyof typeof acts;

/** What can be done with several runs at once, beside how many there are. */
export function BulkBar({
  runs,
  onAct,
  onClear,
}: {
  runs: Api.ListedRun[];
  onAct: (act: Act) => void;
  onClear: () => void;
}) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-4 py-1.5 md:px-6">
      <span className="text-sm font-medium text-accent-strong" role="status">
        {runs.length} selected
      </span>
      {(Object.keys(acts) as Act[]).map((name) => (
        <Button
          key={name}
          size="small"
          disabled={!runs.some(acts[name].fits)}
          icon={
            name === 'cancel' ? (
              <Ban size={13} aria-hidden="true" />
            ) : (
              <RotateCcw size={13} aria-hidden="true" />
            )
          }
          onClick={() => onAct(name)}
        >
          {acts[name].label}
        </Button>
      ))}
      {runs.length === 2 && (
        <Link
          to="/runs/compare"
          search={{ a: runs[1]!.id, b: runs[0]!.id }}
          className="rounded-sm px-1 text-xs font-medium text-accent-strong hover:underline"
        >
          Compare the two
        </Link>
      )}
      <Button kind="quiet" size="small" className="ml-auto" icon={X} onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}

type Result = { is: 'under way' } | { is: 'done' } | { is: 'refused'; why: string };

/** Asks, does it to each, and says of each what became of it. */
export function BulkDialog({ act, runs, onClose }: { act: Act; runs: Api.ListedRun[]; onClose: () => void }) {
  const client = useQueryClient();
  const { title, about, label, fits, act: carryOut, done } = acts[act];
  // As they were when it was asked: they change while it is done.
  const [targets] = useState(() => runs.filter(fits));
  const [results, setResults] = useState<Record<string, Result>>({});
  const [stage, setStage] = useState<'asks' | 'works' | 'done'>('asks');
  const go = async () => {
    setStage('works');
    const rest = [...targets];
    const one = async () => {
      for (let run = rest.shift(); run; run = rest.shift()) {
        const { id } = run;
        const tell = (result: Result) => setResults((before) => ({ ...before, [id]: result }));
        tell({ is: 'under way' });
        try {
          await carryOut(id);
          tell({ is: 'done' });
        } catch (error) {
          tell({ is: 'refused', why: error instanceof Error ? error.message : String(error) });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    setStage('done');
    void client.invalidateQueries({ queryKey: ['runs'] });
  };
  const refused = Object.values(results).filter(({ is }) => is === 'refused').length;
  const left = runs.length - targets.length;
  return (
    <Dialog open onClose={onClose} title={title}>
      <div className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          {stage === 'done'
            ? `${targets.length - refused} of ${targets.length} done${refused ? `, ${refused} refused` : ''}.`
            : `${targets.length} ${targets.length === 1 ? 'run' : 'runs'}. ${about}`}
          {stage === 'asks' && left > 0 && ` ${left} of those selected cannot be, and are left out.`}
        </p>
        <ul
          aria-label="Runs"
          className="max-h-80 divide-y divide-line overflow-y-auto rounded-md border border-line"
        >
          {targets.map((run) => (
            <li key={run.id} className="flex items-start gap-2 px-3 py-1.5 text-sm">
              <span className="min-w-0 flex-1">
                <Link to="/runs/$runId" params={{ runId: run.id }} className="block truncate hover:underline">
                  {askedOf(run)}
                </Link>
                {results[run.id]?.is === 'refused' && (
                  <span className="block text-xs break-words text-bad">
                    {(results[run.id] as { why: string }).why}
                  </span>
                )}
              </span>
              <ResultMark result={results[run.id]} done={done} />
            </li>
          ))}
        </ul>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{stage === 'done' ? 'Close' : 'Leave them'}</Button>
          {stage !== 'done' && (
            <Button
              kind={act === 'cancel' ? 'danger' : 'primary'}
              busy={stage === 'works'}
              onClick={() => void go()}
            >
              {label} {targets.length} {targets.length === 1 ? 'run' : 'runs'}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function ResultMark({ result, done }: { result: Result | undefined; done: string }) {
  if (!result) return null;
  if (result.is === 'under way') return <Spinner className="mt-1" />;
  if (result.is === 'done')
    return (
      <span className="flex shrink-0 items-center gap-1 text-xs text-good">
        <CircleCheck size={14} aria-hidden="true" /> {done}
      </span>
    );
  return (
    <span className="flex shrink-0 items-center gap-1 text-xs text-bad">
      <CircleX size={14} aria-hidden="true" /> Refused
    </span>
  );
}
