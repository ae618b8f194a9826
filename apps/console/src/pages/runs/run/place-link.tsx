import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** To a page of another noun, whose routes are its own business. */
export function PlaceLink({ to, children, title }: { to: string; children: ReactNode; title?: string }) {
  return (
    <Link to={to} title={title} className="rounded-sm text-accent-strong underline-offset-2 hover:underline">
      {children}
    </Link>
  );
}
