import { cx } from '../../blocks/cx.ts';
import { INBOX_KINDS, type InboxKind, kindWords } from './words.ts';

/** Which kinds are shown, and how much there is of each. */
export function Kinds({
  counts,
  unfinished,
  kind,
  onKind,
}: {
  counts: Record<InboxKind, number>;
  /** Those of which there are more than were counted. */
  unfinished: readonly InboxKind[];
  kind: InboxKind | undefined;
  onKind: (kind: InboxKind | undefined) => void;
}) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const choices = [
    { value: undefined, label: 'All', count: total },
    ...INBOX_KINDS.map((value) => ({ value, label: kindWords[value].many, count: counts[value] })),
  ];
  return (
    <fieldset className="flex min-w-0 shrink-0 gap-1 overflow-x-auto border-b border-line bg-surface px-4 py-2 md:px-6">
      <legend className="sr-only">Kind</legend>
      {choices.map(({ value, label, count }) => (
        <button
          key={label}
          type="button"
          aria-pressed={kind === value}
          title={value && kindWords[value].about}
          onClick={() => onKind(value)}
          className={cx(
            'rounded-full border px-2.5 py-0.5 text-sm whitespace-nowrap',
            kind === value
              ? 'border-accent bg-accent-soft font-medium text-accent-strong'
              : 'border-line text-muted hover:bg-hover hover:text-text',
          )}
        >
          {label}
          {count > 0 && (
            <span className="ml-0.5 text-xs tabular-nums">
              {' '}
              {count}
              {(value ? unfinished.includes(value) : unfinished.length > 0) && '+'}
            </span>
          )}
        </button>
      ))}
    </fieldset>
  );
}
