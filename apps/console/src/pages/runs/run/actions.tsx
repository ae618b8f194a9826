import { useNavigate } from '@tanstack/react-router';
import { Ban, GitFork, MessageSquarePlus, MoreHorizontal, RotateCcw, Scale } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Confirm } from '../../../blocks/form.tsx';
import { Menu, MenuItem } from '../../../blocks/menu.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { hasEnded } from '../filter.ts';
import type { RunDetails } from './queries.ts';

const Retry = lazy(() => import('./retry.tsx'));
const Continue = lazy(() => import('./continue.tsx'));
const CompareWith = lazy(() => import('./compare-with.tsx'));

/** What can be done with a run. */
export function Actions({ run, onFork }: { run: RunDetails; onFork: () => void }) {
  const [act, setAct] = useState<'cancel' | 'retry' | 'continue' | 'compare' | null>(null);
  const navigate = useNavigate();
  const close = () => setAct(null);
  const ended = hasEnded(run);
  const canRetry = run.status === 'failed' || run.status === 'canceled';
  const whyNoCopy = noCopy(run);
  return (
    <>
      {!ended && (
        <Button kind="danger" icon={Ban} onClick={() => setAct('cancel')}>
          Cancel
        </Button>
      )}
      {canRetry && (
        <Button kind="primary" icon={RotateCcw} onClick={() => setAct('retry')}>
          Retry
        </Button>
      )}
      <Button
        icon={GitFork}
        disabled={whyNoCopy !== null}
        title={whyNoCopy ?? 'Go on from any step, with other messages'}
        onClick={onFork}
      >
        Fork
      </Button>
      <Menu trigger={<Button size="icon" aria-label="More" icon={MoreHorizontal} />}>
        <MenuItem
          icon={MessageSquarePlus}
          disabled={whyNoCopy !== null || !ended}
          onSelect={() => setAct('continue')}
        >
          Continue as a session
        </MenuItem>
        <MenuItem icon={Scale} onSelect={() => setAct('compare')}>
          Compare with another run
        </MenuItem>
        {run.forkedFrom && (
          <MenuItem
            icon={Scale}
            onSelect={() =>
              void navigate({ to: '/runs/compare', search: { a: run.forkedFrom!.runId, b: run.id } })
            }
          >
            Compare with what it was forked from
          </MenuItem>
        )}
      </Menu>
      <Confirm
        open={act === 'cancel'}
        onClose={close}
        title="Cancel this run?"
        label="Cancel run"
        changes="runs"
        act={async () => {
          await troupe.runs.cancel({ params: { runId: run.id } });
          say('Canceled.');
        }}
      >
        Finished steps are kept. The run can be retried later.
      </Confirm>
      <Suspense>
        {act === 'retry' && <Retry run={run} onClose={close} />}
        {act === 'continue' && <Continue run={run} onClose={close} />}
        {act === 'compare' && <CompareWith run={run} onClose={close} />}
      </Suspense>
    </>
  );
}

/** Why it can be neither forked nor gone on from; null where it can. */
export function noCopy({ door, trigger, triggerType }: RunDetails): string | null {
  if (door === 'network' || triggerType === 'network' || trigger.network !== undefined)
    return 'A run of a network cannot be copied: invoke the network again.';
  if (door === 'space' || ['space_message', 'plan', 'service'].includes(triggerType))
    return 'A run of a space cannot be copied: what it said would be said again.';
  return null;
}
