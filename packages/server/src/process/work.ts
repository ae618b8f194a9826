import { openDatabase, openStream, openWork, type Program, requireDatabase } from './program.ts';
import { tell } from './tell.ts';

/** A worker alone: runs and jobs, no HTTP. */
export async function work(program: Program): Promise<void> {
  const address = requireDatabase(program);
  const db = await openDatabase(program, address);
  await openStream(program, db, await openWork(program, db));
  program.life.ready();
  const { concurrency } = program.config;
  program.logger.info({ concurrency }, 'working');
  tell(program, { concurrency });
}
