import type { Telemetry } from '../kernel/index.ts';
import { type Database, endedRuns } from '../store/index.ts';
import type { Program } from './program.ts';

/** What is under way when the process stops gets this long to be sent. */
const FLUSH_MS = 2_000;

/** Where a collector is set. OpenTelemetry is loaded then and only then. */
export async function openTelemetry(
  { life, config, version, logger }: Program,
  db: Database,
): Promise<Telemetry | undefined> {
  const { telemetry } = config;
  if (telemetry === null) return undefined;
  const { Spans } = await import('../telemetry/index.ts');
  return life.open(
    'stream',
    async () => new Spans({ ...telemetry, version, logger, read: (runs) => endedRuns(db, runs) }),
    (spans, withinMs) => spans.close(Math.min(withinMs, FLUSH_MS)),
  );
}
