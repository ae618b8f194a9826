import type { Database } from '../store/index.ts';
import { openDatabase, openHttp, openKernel, type Program, requireDatabase } from './program.ts';

/** HTTP alone. */
export async function serve(program: Program): Promise<void> {
  const address = requireDatabase(program);
  let db: Database | null = null;
  const server = await openHttp(program, () => db);
  db = await openDatabase(program, address);
  await openKernel(program, db);
  program.life.ready();
  program.logger.info({ url: server.url }, 'serving');
}
