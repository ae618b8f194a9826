import { Access } from '../access/index.ts';
import type { Observed } from '../http/index.ts';
import { openEncryption } from './encryption-key.ts';
import { openEnvironmentModels } from './environment-models.ts';
import {
  openDatabase,
  openStream,
  openWork,
  openWorkerHttp,
  type Program,
  requireDatabase,
} from './program.ts';
import { tell } from './tell.ts';

/** A worker alone: runs and jobs; of HTTP only health and metrics, where TROUPE_METRICS_PORT says so. */
export async function work(program: Program): Promise<void> {
  const address = requireDatabase(program);
  const { concurrency, metricsToken } = program.config;
  let observed: Observed | null = null;
  const server = await openWorkerHttp(program, () => observed);
  const db = await openDatabase(program, address);
  await openEnvironmentModels(program, db);
  const kernel = await openWork(program, db);
  const stream = await openStream(program, db, kernel);
  const encryption = openEncryption(program.name, program.config);
  const access = new Access({ db, mode: 'closed', encryption, outgoing: program.outgoing, metricsToken });
  observed = { db, kernel, access, stream };
  program.life.ready();
  const facts = { concurrency, ...(server ? { metrics: server.url } : {}) };
  program.logger.info(facts, 'working');
  tell(program, facts);
}
