import type { LucideIcon } from 'lucide-react';
import { isValidElement, type ReactElement } from 'react';

/** An icon by its component, or as an element if it needs more than a size. */
export type IconSource = LucideIcon | ReactElement;

/** An icon that says nothing that the text beside it does not say. */
export function Icon({ of, size }: { of: IconSource; size: number }) {
  if (isValidElement(of)) return of;
  const Drawn = of as LucideIcon;
  return <Drawn size={size} aria-hidden="true" />;
}
