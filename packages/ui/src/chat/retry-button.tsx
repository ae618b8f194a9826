import { RetryIcon } from '../basic/icons.tsx';

/** Stays in its place while it works, so that the keyboard stays on it. */
export function RetryButton({
  label,
  busyLabel,
  isBusy,
  onRetry,
}: {
  label: string;
  busyLabel: string;
  isBusy: boolean;
  onRetry: () => void;
}) {
  return (
    <button
      type="button"
      className="troupe-button"
      aria-disabled={isBusy || undefined}
      onClick={() => !isBusy && onRetry()}
    >
      <RetryIcon />
      <span>{isBusy ? busyLabel : label}</span>
    </button>
  );
}
