import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import { systemQuery } from './system.ts';

/** Says that no real model answers, as long as that is so. */
export function Banner() {
  const { data } = useQuery(systemQuery);
  if (!data?.demo) return null;
  return (
    <aside
      aria-label="Demo model"
      className="flex items-start gap-2 border-b border-line bg-warn-soft px-4 py-1.5 text-sm text-warn md:px-6"
    >
      <FlaskConical size={14} aria-hidden="true" className="mt-0.75 shrink-0" />
      <p>
        The demo model answers
        <span className="max-sm:hidden">. It needs no key and knows a few tricks only</span>.{' '}
        {data.caller.kind !== 'user' && (
          <Link to="/models" className="rounded-sm font-medium underline underline-offset-2">
            Connect a real model
          </Link>
        )}
      </p>
    </aside>
  );
}
