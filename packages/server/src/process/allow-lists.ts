import { createOutgoing, type Outgoing } from '../outgoing/index.ts';
import { allowedOutgoing, type Database } from '../store/index.ts';

export interface OutgoingSettings {
  /** What the first project may reach beyond its own list: the operator's own. */
  allow?: readonly string[];
  /** Origins of this server. */
  own?: () => readonly string[];
  /** For how long a list may be used without looking again. */
  cacheMs?: number;
}

/** Which programs a project may have started as MCP servers: those that the operator named, where the project is the operator's own. */
export function programsOf(database: () => Database, commands: readonly string[]) {
  return async (project: string): Promise<readonly string[]> => {
    if (commands.length === 0) return [];
    const { first } = await allowedOutgoing(database(), project);
    return first ? commands : [];
  };
}

const CACHE_MS = 5_000;
const MOST_CACHED = 5_000;

/** The guarded client of a process, with the lists of the projects as the database has them: what was changed holds within seconds. */
export function openOutgoing(
  database: () => Database,
  { allow = [], own, cacheMs = CACHE_MS }: OutgoingSettings = {},
): Outgoing {
  const known = new Map<string, { until: number; list: Promise<readonly string[]> }>();
  const allowed = (project: string) => {
    const found = known.get(project);
    if (found && found.until > performance.now()) return found.list;
    const list = allowedOutgoing(database(), project).then(({ entries, first }) =>
      first ? [...entries, ...allow] : entries,
    );
    known.delete(project);
    known.set(project, { until: performance.now() + cacheMs, list });
    // What could not be read is nothing to remember.
    list.catch(() => known.delete(project));
    const [oldest] = known.keys();
    if (known.size > MOST_CACHED) known.delete(oldest!);
    return list;
  };
  const client = createOutgoing({ allowed, ...(own ? { own } : {}) });
  return { ...client, forget: (project) => known.delete(project) };
}
