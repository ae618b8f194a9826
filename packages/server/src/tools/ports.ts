import type { SnapshotTool } from '@troupe/protocol';
import type { ToolExecute } from '../kernel/ports.ts';
import type { Outgoing } from '../outgoing/index.ts';

/** From a tool as a snapshot has it, with what is set for it, to what executes it. */
export type Provider = (tool: SnapshotTool) => ToolExecute | undefined;

/** For what tools name and nobody may see. */
export interface SecretValues {
  /** Null where the project has none of this name. */
  reveal(project: string, name: string): Promise<string | null>;
}

/** What tools need of the rest of the server. A tool whose parts are missing cannot be executed here. */
export interface ToolParts {
  now(): Date;
  secrets: SecretValues;
  outgoing: Outgoing;
}
