import type { ReactNode } from 'react';
import { ChevronIcon } from './icons.tsx';

/** The button that opens and closes what stands below it. */
export function Fold({
  isOpen,
  bodyId,
  onToggle,
  className = 'troupe-fold',
  children,
}: {
  isOpen: boolean;
  bodyId: string;
  onToggle: (isOpen: boolean) => void;
  className?: string;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className={className}
      aria-expanded={isOpen}
      aria-controls={bodyId}
      onClick={() => onToggle(!isOpen)}
    >
      <ChevronIcon />
      {children}
    </button>
  );
}
