import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { cx } from '../blocks/cx.ts';
import { placesOf } from './navigation.ts';
import { systemQuery } from './system.ts';
import { useWaiting } from './waiting.ts';

export function Sidebar({ onPalette, onNavigate }: { onPalette: () => void; onNavigate?: () => void }) {
  const { waiting, dead } = useWaiting();
  const { data: system } = useQuery(systemQuery);
  const inInbox = waiting + dead;
  return (
    <nav aria-label="Main" className="flex h-full w-56 shrink-0 flex-col border-r border-line bg-sunken">
      <Link
        to="/"
        onClick={onNavigate}
        className="mx-3 mt-3 flex items-center gap-2 rounded-md px-2 py-1.5 text-lg font-semibold tracking-tight"
      >
        <img src="/icon.svg" alt="" width={22} height={22} /> Troupe
      </Link>
      <button
        type="button"
        onClick={onPalette}
        className="mx-3 mt-2 flex items-center gap-2 rounded-md border border-line bg-surface px-2.5 py-1.5 text-sm text-faint hover:border-line-strong hover:text-muted"
      >
        <Search size={14} aria-hidden="true" /> Find or do…
        <kbd className="ml-auto font-sans text-2xs">⌘K</kbd>
      </button>
      <div className="mt-2 min-h-0 flex-1 overflow-y-auto px-3 pb-4">
        {placesOf(system?.caller.kind).map(({ heading, items }) => (
          <div key={heading ?? 'top'} className="mt-3">
            {heading && (
              <p className="px-2 pb-1 text-2xs font-semibold tracking-wide text-faint uppercase">{heading}</p>
            )}
            <ul>
              {items.map(({ to, label, icon: Icon }) => (
                <li key={to}>
                  <Link
                    to={to}
                    onClick={onNavigate}
                    activeOptions={{ exact: to === '/' }}
                    className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm"
                    activeProps={{ className: 'bg-accent-soft text-accent-strong font-medium' }}
                    inactiveProps={{ className: 'text-muted hover:bg-hover hover:text-text' }}
                  >
                    <Icon size={16} aria-hidden="true" className="shrink-0" />
                    <span className="truncate">{label}</span>
                    {to === '/inbox' && inInbox > 0 && (
                      <span
                        className={cx(
                          'ml-auto rounded-full bg-accent px-1.5 text-2xs font-semibold text-on-accent tabular-nums',
                        )}
                      >
                        {inInbox > 99 ? '99+' : inInbox}
                        <span className="sr-only"> waiting</span>
                      </span>
                    )}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </nav>
  );
}
