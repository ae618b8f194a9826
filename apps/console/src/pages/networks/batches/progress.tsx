import type { Api } from '@troupe/sdk';
import { formatNumber } from '../../../data/format.ts';

/** How far a batch has come, as a bar of what ended how. */
export function Progress({ counts }: { counts: Api.Batch['counts'] }) {
  const { total, completed, failed, canceled } = counts;
  const ended = completed + failed + canceled;
  const part = (count: number) => ({ width: `${total === 0 ? 0 : (count / total) * 100}%` });
  return (
    <div className="flex min-w-0 items-center gap-2">
      <div
        role="progressbar"
        aria-label="Ended"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={ended}
        className="flex h-1.5 min-w-16 flex-1 overflow-hidden rounded-full bg-hover"
      >
        <span className="bg-good transition-[width]" style={part(completed)} />
        <span className="bg-bad transition-[width]" style={part(failed)} />
        <span className="bg-line-strong transition-[width]" style={part(canceled)} />
      </div>
      <span className="shrink-0 text-xs text-muted tabular-nums">
        {formatNumber(ended)} / {formatNumber(total)}
      </span>
    </div>
  );
}
