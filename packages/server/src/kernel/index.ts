/**
 * kernel: the durable loop. claim → think → commit → act → commit → …, every step on disk before the next begins.
 * Imports: store, base, protocol. Knows no door, model or tool by name.
 * Start reading: state.ts (what a run can be in), decide.ts (what to do next), loop.ts (who does it), worker.ts (who takes runs).
 */

export { Budgets } from './budget.ts';
export { type Commits, createCommits } from './commits.ts';
export { decide, initialState } from './decide.ts';
export type { Context, Door, LivePiece, Meaning, MeantCall, RunView } from './door.ts';
export { GroupCommit } from './group-commit.ts';
export { Kernel, type KernelOptions, type Onlooker, type WorkOptions } from './kernel.ts';
export type { Ended } from './loop.ts';
export { Past, type PastRequest } from './past.ts';
export { patiently, persistently } from './patiently.ts';
export { asJson, DEEPEST } from './plain-json.ts';
export type * from './ports.ts';
export { HANDED_OVER } from './ports.ts';
export { BOUNDARIES, type Boundary, type Probe } from './probe.ts';
export type { Hints } from './signals.ts';
export type * from './state.ts';
export type { ModelCalled, Telemetry, ToolCalled } from './telemetry.ts';
export { mostOutput } from './think.ts';
export { toModelMessages } from './transcript.ts';
export { testTool, tryTool } from './try.ts';
export { Worker, type WorkerOptions } from './worker.ts';
