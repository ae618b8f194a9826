import type { CSSProperties } from 'react';
import { classes } from './classes.ts';

export interface AvatarProps {
  /** Whose initials are shown; the hue follows from it, unless `id` is given. */
  name: string | null | undefined;
  /** People are round, agents squarish. Default: `human`. */
  type?: 'human' | 'agent' | null | undefined;
  /** What the hue is made of: two of one name stay apart. */
  id?: string | null | undefined;
  size?: 'small' | 'medium' | 'large' | undefined;
  /** A ring that moves: at work right now. */
  active?: boolean | undefined;
}

/** Beside a name it says nothing new, so it is hidden from those who hear the page. */
export function Avatar({ name, type, id, size = 'medium', active }: AvatarProps) {
  const hue = { '--troupe-hue': hueOf(id || name || '?') } as CSSProperties;
  return (
    <span
      className={classes(
        'troupe-avatar',
        `troupe-avatar-${size}`,
        type === 'agent' && 'troupe-avatar-agent',
        active && 'troupe-avatar-active',
      )}
      style={hue}
      title={name ?? undefined}
      aria-hidden="true"
    >
      {initialsOf(name)}
    </span>
  );
}

function initialsOf(name: string | null | undefined): string {
  const words = (name ?? '').split(/[\s_.\-@:/]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const letters = (words.length > 1 ? [words[0]!, words.at(-1)!] : words).map((word) => firstOf(word));
  return letters.join('').toUpperCase() || '?';
}

function firstOf(word: string): string {
  return [...word].find((letter) => /[\p{L}\p{N}]/u.test(letter)) ?? '';
}

/** FNV-1a: names that differ in one letter lie far apart. */
function hueOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % 360;
}
