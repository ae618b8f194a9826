import { Logger as GraphileLogger } from 'graphile-worker';
import type { Logger } from '../base/index.ts';

/** Graphile Worker's own words. What it calls an error is mended by it or by us, so nothing of it is more than a warning. */
export function graphileLogger(logger: Logger): GraphileLogger {
  return new GraphileLogger((scope) => (level, message, meta) => {
    // A failed task is told by whoever runs it, with its attempt.
    const matters = (level === 'error' || level === 'warning') && !meta?.failure;
    const write = matters ? logger.warn : logger.debug;
    write.call(logger, { from: scope.label ?? 'jobs' }, message);
  });
}
