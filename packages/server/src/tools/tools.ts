import type { SnapshotTool } from '@troupe/protocol';
import type { ToolExecute, Tools } from '../kernel/ports.ts';
import { builtinTools } from './builtin/index.ts';
import type { ToolParts } from './ports.ts';
import { staticTool } from './static.ts';

type Provider = (tool: SnapshotTool) => ToolExecute | undefined;

/** Resolves what this process can execute, by the provider that a snapshot names. */
export function createTools(parts: Partial<ToolParts> = {}): Tools {
  const builtin = builtinTools(parts);
  const providers: Record<string, Provider> = {
    builtin: ({ name }) => builtin.get(name),
    static: staticTool,
  };
  return {
    resolve: (tool) =>
      Object.hasOwn(providers, tool.provider) ? providers[tool.provider]!(tool) : undefined,
  };
}
