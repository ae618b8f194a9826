import { type Api, useRuns, useTroupe } from '@troupe/react';
import { useState } from 'react';
import { StopIcon } from '../basic/icons.tsx';
import { RetryButton } from './retry-button.tsx';

const words: Partial<Record<NonNullable<Api.Run['cancelReason']>, string>> = {
  user: 'Stopped before it was done.',
  timeout: 'Stopped: it took longer than it may.',
  budget: 'Stopped: the budget was used up.',
};

/** Why there is no answer to what was said last, where its run was stopped; and a way to go on. */
export function Stopped({ sessionId }: { sessionId: string }) {
  const troupe = useTroupe();
  const { items } = useRuns({ sessionId, limit: 20 });
  const [isRetrying, setRetrying] = useState(false);
  // One that was taken over has no end of its own, and sub-agents answer somebody else.
  const run = items.find(({ cancelReason, taskId }) => cancelReason !== 'absorbed' && taskId === null);
  const why = run?.status === 'canceled' && run.cancelReason ? words[run.cancelReason] : undefined;
  if (!run || !why) return null;
  const again = () => {
    setRetrying(true);
    troupe.runs
      .retry({ params: { runId: run.id } })
      .catch(() => {})
      .finally(() => setRetrying(false));
  };
  return (
    <div className="troupe-notice troupe-notice-quiet" role="status">
      <StopIcon />
      <p className="troupe-notice-text">{why}</p>
      <RetryButton label="Go on" busyLabel="Going on…" isBusy={isRetrying} onRetry={again} />
    </div>
  );
}
