import type { Capability, SnapshotTool } from '@troupe/protocol';
import type { z } from 'zod';

/** A capability as data: what an agent that carries it gets. */
export interface CapabilityEntry extends Capability {
  /** Stands before the agent's own prompt. Empty: it adds nothing. */
  prompt: string;
  tools: SnapshotTool[];
  /** What an agent may set for it. */
  config: z.ZodType;
}
