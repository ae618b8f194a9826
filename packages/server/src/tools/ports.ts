import type { SnapshotTool } from '@troupe/protocol';
import type { ToolContext, ToolExecute } from '../kernel/ports.ts';
import type { Outgoing } from '../outgoing/index.ts';

/** From a tool as a snapshot has it, with what is set for it, to what executes it. */
export type Provider = (tool: SnapshotTool) => ToolExecute | undefined;

/** For what tools name and nobody may see. */
export interface SecretValues {
  /** Null where the project has none of this name. */
  reveal(project: string, name: string): Promise<string | null>;
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

/** What tools need of the rest of the server. A tool whose parts are missing cannot be executed here. */
export interface ToolParts {
  now(): Date;
  secrets: SecretValues;
  outgoing: Outgoing;
  findings: Findings;
}
