/**
 * kernel: the durable loop. claim → think → commit → act → commit → …, every step on disk before the next begins.
 * Imports: store, base, protocol. Knows no door, model or tool by name.
 * Start reading: state.ts (what a run can be in), decide.ts (what to do next), loop.ts (who does it), worker.ts (who takes runs).
 */
export type { Context, Door, LivePiece, Meaning, MeantCall, RunView } from './door.ts';
export { inOrderHeard } from './heard.ts';
export { Kernel, type KernelOptions, type WorkOptions } from './kernel.ts';
export type { Ended } from './loop.ts';
export { Past, type PastRequest } from './past.ts';
export { patiently, persistently } from './patiently.ts';
export { asJson, DEEPEST } from './plain-json.ts';
export {
  HANDED_OVER,
  type Model,
  type ModelAnswer,
  type ModelCall,
  type ModelDelta,
  type ModelMessage,
  type ModelRequest,
  type Models,
  type ModelTool,
  type ToolAnswer,
  type ToolContext,
  type ToolExecute,
  type Tools,
} from './ports.ts';
export type { Probe } from './probe.ts';
export type { ModelCalled, Telemetry, ToolCalled } from './telemetry.ts';
export { mostOutput } from './think.ts';
export { toModelMessages } from './transcript.ts';
export { testTool, tryTool } from './try.ts';
