import type { Logger as GraphileLogger } from 'graphile-worker';
import type { Logger } from '../base/index.ts';
import { isConnectionError } from '../store/index.ts';
import { graphile } from './graphile.ts';

/** Graphile Worker's own words. What it calls an error is mended by it or by us, so nothing of it is more than a warning. */
export function graphileLogger(logger: Logger): GraphileLogger {
  return new (graphile().Logger)((scope) => (level, message, meta) => {
    const matters = (level === 'error' || level === 'warning') && !isKnown(message, meta);
    const write = matters ? logger.warn : logger.debug;
    write.call(logger, { from: scope.label ?? 'jobs' }, message);
  });
}

/** Failed tasks and lost connections are told by us already; fewer connections than jobs at once is meant. */
function isKnown(message: string, meta: { failure?: unknown; error?: unknown } | undefined): boolean {
  const error = meta?.error as Error | undefined;
  const lost = isConnectionError(error) || isConnectionError(error?.cause);
  return Boolean(meta?.failure) || lost || message.includes('maxPoolSize');
}
