import type { GoalStatus, JsonObject, PlanStatus, SnapshotTool, Todo } from '@troupe/protocol';
import type { ToolContext, ToolExecute } from '../kernel/ports.ts';
import type { Outgoing } from '../outgoing/index.ts';
import type { CodeFunctions } from './code/index.ts';
import type { McpConnections } from './mcp/index.ts';

/** Looks whether calls would reach what executes them, and calls nothing; answers with what was looked at. Throws what is wrong. */
export type Check = (
  tool: SnapshotTool,
  context: { projectId: string; signal: AbortSignal },
) => Promise<string> | string;

/** From a tool as a snapshot has it, with what is set for it, to what executes it. */
export type Provider = (tool: SnapshotTool) => ToolExecute | undefined;

/** For what tools name and nobody may see. */
export interface SecretValues {
  /** Null where the project has none of this name. */
  reveal(project: string, name: string): Promise<string | null>;
}

/** Whose memories and goals a call is about, and the run that makes it. */
export interface KeptByCall {
  project: string;
  entity: string;
  per: 'agent' | 'person';
  run: string;
  epoch: number;
  worker: string;
}

/** Why nothing changed: the worker no longer has the run, or nobody knows any more which person it works for. */
export type KeptRefused = { ok: false; code: 'run_lost' } | { ok: false; code: 'owner_unknown' };

export type KeptDeleted = { ok: true; deleted: number } | KeptRefused;

export type KeptChange =
  | { ok: true }
  | KeptRefused
  | { ok: false; code: 'too_many'; held: number }
  | { ok: false; code: 'not_found'; ids: string[] };

export interface KeptGoal {
  id: string;
  description: string;
  status: GoalStatus;
  priority: number;
}

/** Memories and goals. What changes them is written only while the worker has the run. */
export interface MemoryPart {
  setMemories(where: KeptByCall, memories: { key: string; value: string }[]): Promise<KeptChange>;
  memories(
    where: KeptByCall,
    keys: string[] | null,
  ): Promise<{ key: string; value: string; updatedAt: Date }[]>;
  deleteMemories(where: KeptByCall, keys: string[]): Promise<KeptDeleted>;
  /** `known`: it is there already. All of them or none. */
  setGoals(
    where: KeptByCall,
    goals: (Partial<KeptGoal> & { id: string; known: boolean })[],
  ): Promise<KeptChange>;
  goals(where: KeptByCall, status: GoalStatus | null): Promise<(KeptGoal & { updatedAt: Date })[]>;
  deleteGoals(where: KeptByCall, ids: string[]): Promise<KeptDeleted>;
}

/** Whose plans a call is about, and the run that makes it. */
export interface PlansByCall {
  project: string;
  agent: string;
  entity: string;
  run: string;
  epoch: number;
  worker: string;
  call: string;
}

export interface GivenPlan {
  name: string;
  instruction?: string;
  runAfter?: string;
  scheduledAt?: string;
  cron?: string;
  timeZone?: string;
}

export interface KeptPlan {
  id: string;
  name: string;
  instruction: string;
  status: PlanStatus;
  runAfter: string | null;
  scheduledAt: Date | null;
  cron: string | null;
  timeZone: string | null;
  nextRunAt: Date | null;
  lastRunAt: Date | null;
}

/** The plans of an agent. Changes throw where a time cannot be, a limit is reached or the run is lost. */
export interface PlansPart {
  /** By name; all of them or none. */
  set(
    by: PlansByCall,
    plans: GivenPlan[],
  ): Promise<{ id: string; name: string; nextRunAt: string | null; created: boolean }[]>;
  list(by: PlansByCall, status: PlanStatus | null, limit: number): Promise<KeptPlan[]>;
  delete(by: PlansByCall, ids: string[]): Promise<number>;
}

/** What research found in a session. */
export interface Findings {
  /** How many there are then. Throws `run_lost` for a worker that no longer has the run. */
  note(context: ToolContext, finding: Finding): Promise<number>;
  list(project: string, thread: string): Promise<Finding[]>;
}

export interface Finding {
  question: string;
  claim: string;
  source: string;
  quote: string;
  confidence: string;
}

export interface FileInfo {
  path: string;
  size: number;
  type: string;
  createdAt: Date;
  updatedAt: Date;
}
/** The run on whose behalf is written: whoever lost it writes nothing. */
export type Writer = Pick<ToolContext, 'threadId' | 'runId' | 'epoch' | 'worker'>;

/** The files of a thread, by paths as `filePath` gives them. Writes throw where a limit is reached or the run is lost. */
export interface Files {
  /** The file of that path, or all below the directory; by path. */
  list(thread: string, path: string): Promise<FileInfo[]>;
  read(thread: string, path: string): Promise<(FileInfo & { content: Buffer }) | null>;
  write(writer: Writer, path: string, content: Buffer): Promise<{ created: boolean }>;
  delete(writer: Writer, path: string, recursive: boolean): Promise<number>;
  /** All or none; null deletes. */
  change(writer: Writer, changes: ReadonlyMap<string, Buffer | null>): Promise<void>;
}

export interface Todos {
  read(thread: string): Promise<Todo[]>;
  write(writer: Writer, todos: Todo[]): Promise<void>;
}

/** What the caller of a network gave for its tools: no agent gives it, and nobody sees it. */
export interface SystemParams {
  /** Empty where the run was given none. */
  open(project: string, run: string): Promise<JsonObject>;
}

/** What tools need of the rest of the server. A tool whose parts are missing cannot be executed here. */
export interface ToolParts {
  now(): Date;
  secrets: SecretValues;
  outgoing: Outgoing;
  /** The process's connections to MCP servers. */
  mcp: McpConnections;
  memory: MemoryPart;
  plans: PlansPart;
  findings: Findings;
  files: Files;
  todos: Todos;
  systemParams: SystemParams;
  /** What begins runs for calls to wait for, by the provider that names it. */
  tasks: Record<string, Provider>;
  /** Functions of the user that this process has. */
  code: CodeFunctions;
  /** What can be looked at of providers that are not at home here. */
  checks: Record<string, Check>;
  /** What executes the tools that doors bring, by their names. */
  ofDoors: Record<string, ToolExecute>;
}
