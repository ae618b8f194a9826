import type { Capability, SnapshotTool } from '@troupe/protocol';
import type { z } from 'zod';

/** A capability as data: what an agent that carries it gets. */
export interface CapabilityEntry extends Omit<Capability, 'configSchema' | 'includes'> {
  /** Stands before the agent's own prompt. Empty: it adds nothing. */
  prompt: string;
  /** Each gets what the agent set for the capability as its `config`. */
  tools: SnapshotTool[];
  /** Capabilities that it builds on: an agent that carries it has their tools and prompts too, before its own. */
  includes?: string[];
  /** What an agent may set for it. */
  config: z.ZodType;
}
