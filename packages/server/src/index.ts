/**
 * @troupe/server: the durable kernel as a library: a database, a kernel, and the doors, models and tools that the caller brings.
 * It loads neither HTTP nor the doors of Troupe. `parts.ts` publishes these, and `main.ts` is the program.
 * Start reading: ARCHITECTURE.md, then kernel/index.ts.
 */
export { type Logger, newId, silentLogger } from './base/index.ts';
export {
  type Door,
  type Ended,
  Kernel,
  type KernelOptions,
  type Model,
  type ModelRequest,
  type Models,
  type Probe,
  type Telemetry,
  type ToolExecute,
  type Tools,
  toModelMessages,
  type WorkOptions,
} from './kernel/index.ts';
export { createModels } from './models/registry.ts';
export {
  Database,
  findBinaries,
  migrate,
  type NewRun,
  type StartItem,
  saveSnapshot,
  startEmbedded,
} from './store/index.ts';
