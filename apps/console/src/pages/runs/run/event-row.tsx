import type { Api } from '@troupe/sdk';
import { memo } from 'react';
import { cx } from '../../../blocks/cx.ts';

export const ROW = 30;

const tones: Record<string, string> = {
  run: 'text-accent-strong',
  step: 'text-info',
  tool: 'text-warn',
  message: 'text-good',
};

function toneOf(type: string): string {
  if (/\.(failed|error|refused|exhausted)$/.test(type)) return 'text-bad';
  if (type.endsWith('.warning')) return 'text-warn';
  return tones[type.split('.', 1)[0]!] ?? 'text-text';
}

export const EventRow = memo(function EventRow({
  event,
  top,
  isOpen,
  clock,
  onOpen,
}: {
  event: Api.Event;
  top: number;
  isOpen: boolean;
  clock: Intl.DateTimeFormat;
  onOpen: (sequence: number) => void;
}) {
  return (
    <li className="absolute inset-x-0" style={{ transform: `translateY(${top}px)`, height: ROW }}>
      <button
        type="button"
        data-sequence={event.sequence}
        aria-pressed={isOpen}
        onClick={() => onOpen(event.sequence)}
        className={cx(
          'flex h-full w-full items-center gap-3 border-b border-line px-4 text-left text-xs md:px-6',
          isOpen ? 'bg-accent-soft' : 'hover:bg-hover',
        )}
      >
        <span className="w-12 shrink-0 text-right text-faint tabular-nums">{event.sequence}</span>
        <span className="hidden w-24 shrink-0 text-faint tabular-nums sm:block">
          {clock.format(Date.parse(event.createdAt))}
        </span>
        <span className={cx('w-36 shrink-0 truncate font-medium', toneOf(event.type))}>{event.type}</span>
        <span className="hidden w-10 shrink-0 text-faint tabular-nums sm:block">
          {event.step === undefined ? '' : `#${event.step}`}
        </span>
        <span className="min-w-0 flex-1 truncate font-mono text-2xs text-muted">{briefOf(event)}</span>
      </button>
    </li>
  );
});

const briefs = new WeakMap<Api.Event, string>();
/** The first of its data; made once, since rows come and go as one scrolls. */
function briefOf(event: Api.Event): string {
  let brief = briefs.get(event);
  if (brief === undefined) {
    const parts: string[] = [];
    let length = 0;
    for (const [name, value] of Object.entries(event.data)) {
      const text = `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`.slice(0, 120);
      parts.push(text);
      length += text.length;
      if (length > 200) break;
    }
    brief = parts.join('  ');
    briefs.set(event, brief);
  }
  return brief;
}

const texts = new WeakMap<Api.Event, string>();
/** Where a search looks. */
export function searchable(event: Api.Event): string {
  let text = texts.get(event);
  if (text === undefined) {
    text = `${event.sequence} ${event.type} ${JSON.stringify(event.data)}`.toLowerCase();
    texts.set(event, text);
  }
  return text;
}
