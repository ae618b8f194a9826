import type { ReactNode } from 'react';
import type { useVersioned } from '../data/versioned.ts';
import { Conflict } from './conflict.tsx';
import { Notice } from './states.tsx';
import { TextDiff } from './text-diff.tsx';

type Found = NonNullable<ReturnType<typeof useVersioned>['conflict']>;

/** Says that somebody else saved while one edits. */
export function NewerNotice({ version, base }: { version: number; base: number }): ReactNode {
  if (version <= base) return null;
  return (
    <Notice tone="warn">
      Somebody else saved version {version} while you were editing version {base}. When you save, you see
      both.
    </Notice>
  );
}

/** What two people saved, compared as JSON. */
export function VersionConflict({ what, conflict }: { what: string; conflict: Found | null }): ReactNode {
  if (!conflict) return null;
  const { before, after, ...rest } = conflict;
  return (
    <Conflict what={what} {...rest}>
      <TextDiff before={before} after={after} label="Your change" />
    </Conflict>
  );
}
