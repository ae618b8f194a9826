/**
 * telemetry: spans of runs, steps, model calls and tool calls, sent by OTLP. Imported only where a collector is set.
 * Imports: kernel (what is told), store (types of what is read), base.
 * Start reading: spans.ts, then told.ts (what becomes which span) and ids.ts (why a run is one trace wherever it runs).
 */
export { Spans } from './spans.ts';
