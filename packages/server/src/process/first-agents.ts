import { bringFirstAgents, bringMissingAgents } from '../definitions/agents/index.ts';
import { type Database, ensureProject } from '../store/index.ts';
import type { Program } from './program.ts';

/** The first project is there before anything else is. Older ones get their agents beside the start, 20 ms or so for each, which a server of thousands cannot wait for. */
export async function openFirstAgents({ life, logger }: Program, db: Database): Promise<void> {
  await ensureProject(db, bringFirstAgents);
  const opening = async () => {
    const stop = new AbortController();
    const done = bringMissingAgents(db, stop.signal).catch((error: unknown) =>
      logger.warn(
        { err: error },
        'not all projects have their first agents yet; the next start goes on with it',
      ),
    );
    return { stop, done };
  };
  await life.open('work', opening, async ({ stop, done }) => {
    stop.abort();
    await done;
  });
}
