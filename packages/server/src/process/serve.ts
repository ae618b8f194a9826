import type { Services } from '../http/index.ts';
import type { Database } from '../store/index.ts';
import {
  openDatabase,
  openHttp,
  openKernel,
  openServices,
  type Program,
  requireDatabase,
} from './program.ts';
import { tell } from './tell.ts';
import { openTriggers } from './triggers.ts';

/** HTTP alone. */
export async function serve(program: Program): Promise<void> {
  const address = requireDatabase(program);
  let db: Database | null = null;
  let services: Services | null = null;
  const server = await openHttp(
    program,
    () => db,
    () => services,
  );
  db = await openDatabase(program, address);
  services = await openServices(program, db, await openKernel(program, db));
  await openTriggers(program, db, services.access.encryption, null);
  program.life.ready();
  program.logger.info({ url: server.url }, 'serving');
  tell(program, { url: server.url });
}
