import type { SnapshotTool } from '@troupe/protocol';
import type { ToolExecute } from '../kernel/ports.ts';

/** Always the same output: for tools that only show something, and for trying things out. */
export function staticTool({ config }: SnapshotTool): ToolExecute {
  const { output = { status: 'ok' } } = config;
  return () => output;
}
