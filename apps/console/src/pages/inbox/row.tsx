import { Time } from '@troupe/ui';
import { CircleHelp, MailX, MessageCircleQuestion, MonitorSmartphone, ShieldCheck } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { cx } from '../../blocks/cx.ts';
import type { InboxItem } from './items.ts';
import { kindWords } from './words.ts';

const icons = {
  approval: { icon: ShieldCheck, className: 'text-accent' },
  tool: { icon: MonitorSmartphone, className: 'text-info' },
  question: { icon: MessageCircleQuestion, className: 'text-info' },
  doubt: { icon: CircleHelp, className: 'text-warn' },
  delivery: { icon: MailX, className: 'text-bad' },
};

/** One that waits, in the list. */
export function Row({
  item,
  isCurrent,
  isChecked,
  onOpen,
  onCheck,
}: {
  item: InboxItem;
  isCurrent: boolean;
  isChecked: boolean;
  onOpen: () => void;
  onCheck: (isChecked: boolean) => void;
}) {
  const { icon: Icon, className } = icons[item.kind];
  const word = kindWords[item.kind].one;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isCurrent]);
  return (
    <li
      ref={row}
      className={cx(
        'relative flex items-center gap-3 border-b border-line px-4 py-2',
        isCurrent ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <input
        type="checkbox"
        aria-label={`Select ${word}: ${item.title}`}
        className="relative z-10 size-4 shrink-0 accent-[var(--troupe-accent)]"
        checked={isChecked}
        onChange={({ target }) => onCheck(target.checked)}
      />
      <Icon size={16} aria-hidden="true" className={cx('shrink-0', className)} />
      <button
        type="button"
        aria-current={isCurrent || undefined}
        onClick={onOpen}
        className="min-w-0 flex-1 text-left after:absolute after:inset-0"
      >
        <span className="block truncate text-sm font-medium" title={item.title}>
          <span className="sr-only">{word}: </span>
          {item.title}
        </span>
        <span className="flex min-w-0 gap-2 text-xs text-faint">
          <span className={cx('truncate', 'call' in item && 'max-w-[50%] shrink-0')} title={item.who}>
            {item.who}
          </span>
          {'call' in item && item.kind !== 'question' && (
            <span className="min-w-0 flex-1 truncate font-mono">{JSON.stringify(item.call.arguments)}</span>
          )}
        </span>
      </button>
      <span className="shrink-0 text-xs text-faint">
        <Time value={item.at} />
      </span>
    </li>
  );
}
