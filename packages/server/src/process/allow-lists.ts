import { PromiseCache } from '../base/index.ts';
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
const MAX_CACHED = 5_000;

/** The guarded client of a process, with the lists of the projects as the database has them: what was changed holds within seconds. */
export function openOutgoing(
  database: () => Database,
  { allow = [], own, cacheMs = CACHE_MS }: OutgoingSettings = {},
): Outgoing {
  const lists = new PromiseCache<readonly string[]>({ max: MAX_CACHED, ttlMs: cacheMs });
  const allowed = (project: string) =>
    lists.get(project, async () => {
      const { entries, first } = await allowedOutgoing(database(), project);
      return first ? [...entries, ...allow] : entries;
    });
  const client = createOutgoing({ allowed, ...(own ? { own } : {}) });
  return { ...client, forget: (project) => lists.delete(project) };
}
