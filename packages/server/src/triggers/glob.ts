import { COLLECTIONS } from './collections.ts';

/** What a path with `*` in it is about. `*` is one whole segment and never more. */
export interface Glob {
  /** The collections that it can match; none: it matches nothing that there is. */
  collections: string[];
  /** For paths of collections, as Postgres and JavaScript understand it alike. */
  pattern: string;
}

/** Ids, external ids of users, and names, but no regular expressions; `-` stands for an absent user. */
const SEGMENT = /^(\*|[^\s/*()[\]{}\\?^$]{1,250})$/u;

/** Null where it is no path at all. */
export function globOf(text: string): Glob | null {
  const segments = text.split('/');
  if (!segments.every((segment) => SEGMENT.test(segment))) return null;
  const collections = Object.entries(COLLECTIONS)
    .filter(([, { path }]) => fits(segments, path.split('/')))
    .map(([name]) => name);
  const pattern = segments.map((segment) => (segment === '*' ? '[^/]+' : literal(segment))).join('/');
  return { collections, pattern: `^${pattern}$` };
}

function fits(glob: readonly string[], path: readonly string[]): boolean {
  return (
    glob.length === path.length &&
    path.every((segment, at) => segment.startsWith('{') || glob[at] === '*' || glob[at] === segment)
  );
}

/** Ids are written in small letters; an external id may look like one. */
function literal(segment: string): string {
  const lower = /^[0-9a-f]{8}-/i.test(segment) ? segment.toLowerCase() : segment;
  return lower === segment ? escaped(segment) : `(?:${escaped(lower)}|${escaped(segment)})`;
}

/** ASCII punctuation only: in Postgres, a backslash before any other character is a class or an error. */
function escaped(text: string): string {
  return text.replaceAll(/[!-,.:-@[-^`{-~]/g, '\\$&');
}
