import { COLLECTIONS } from './collections.ts';

/** What a path with `*` in it is about. `*` is one whole segment and never more. */
export interface Glob {
  /** The collections that it can match; none: it matches nothing that there is. */
  collections: string[];
  /** For paths of collections, as Postgres and JavaScript understand it alike. */
  pattern: string;
}

/** Ids and names; `-` stands for a user where there is none. */
const SEGMENT = /^(\*|[A-Za-z0-9_.:-]{1,100})$/;

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

/** Ids are written in small letters. */
function literal(segment: string): string {
  const known = /^[0-9a-f]{8}-/i.test(segment) ? segment.toLowerCase() : segment;
  return known.replaceAll('.', '[.]');
}
