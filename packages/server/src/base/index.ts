/**
 * base: what every room may use and nothing more: ids, errors, logging, counting, JSON Schema.
 * Imports: protocol.
 * Start reading: errors.ts (how a failure is told), ids.ts (how rows are named).
 */
export { withoutAbsentNulls } from './absent-nulls.ts';
export { canonicalJson } from './canonical-json.ts';
export { MILLIONTHS } from './cost.ts';
export {
  messageOf,
  notFound,
  Refusal,
  type RefusalKind,
  RetryableError,
  StartupError,
  TroupeError,
  versionConflict,
} from './errors.ts';
export { directoryPath, filePath } from './file-path.ts';
export { fileType, textIn } from './file-type.ts';
export { firstIdAt, idFrom, isId, newId } from './ids.ts';
export { inProcessorTime, inTime, OutOfTime } from './in-time.ts';
export { inUse } from './in-use.ts';
export { inWords } from './in-words.ts';
export { diffJson } from './json-diff.ts';
export { argumentProblem, schemaProblem, writtenProblem } from './json-schema.ts';
export { lazy, once } from './lazy.ts';
export { limited, limitedFetch } from './limited.ts';
export { createLogger, type Logger, silentLogger } from './logger.ts';
export {
  Counter,
  countedHere,
  type Family,
  gauge,
  Histogram,
  METRICS_TYPE,
  metricsText,
} from './metrics.ts';
export {
  fromCursor,
  type IdRange,
  idPosition,
  type ListQuery,
  type Page,
  readPage,
  readPageById,
  toCursor,
} from './paging.ts';
export { PromiseCache } from './promise-cache.ts';
export { checkStorable } from './storable.ts';
export { mapTexts, type TemplatePart, templateOf, valueAt } from './template.ts';
export { boundMedia, imageType, splitMedia } from './tool-media.ts';
