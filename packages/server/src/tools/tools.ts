import type { Tools } from '../kernel/ports.ts';
import { builtinTools } from './builtin/index.ts';
import { codeTool } from './code/index.ts';
import { echo } from './echo.ts';
import { withGiven } from './given.ts';
import { checkHttpTool, httpTool } from './http/index.ts';
import { checkMcpTool, mcpTool } from './mcp/index.ts';
import type { Check, Provider, ToolParts } from './ports.ts';
import { staticTool } from './static.ts';

/** Resolves what this process can execute, by the provider that a snapshot names. */
export function createTools(parts: Partial<ToolParts> = {}): Tools {
  const builtin = builtinTools(parts);
  const { secrets, outgoing, mcp, systemParams, code } = parts;
  const providers: Record<string, Provider> = {
    builtin: (tool) => builtin.get(tool.name)?.(tool),
    ...(secrets && outgoing ? { http: httpTool({ secrets, outgoing }) } : {}),
    ...(secrets && mcp ? { mcp: mcpTool({ secrets, mcp }) } : {}),
    static: staticTool,
    echo: () => echo,
    ...(code ? { code: codeTool(code, secrets) } : {}),
    ...parts.tasks,
  };
  // What can be looked at without a call. A provider that is not here is asked whether it can execute the tool, and that is all.
  const checks: Record<string, Check> = {
    ...(secrets && outgoing ? { http: checkHttpTool({ secrets, outgoing }) } : {}),
    ...(secrets && mcp ? { mcp: checkMcpTool({ secrets, mcp }) } : {}),
    ...parts.checks,
  };
  return {
    code: [...(code?.keys() ?? [])].sort(),
    resolve: (tool) => {
      const execute = Object.hasOwn(providers, tool.provider) ? providers[tool.provider]!(tool) : undefined;
      return execute && withGiven(tool, execute, systemParams);
    },
    check: async (tool, context) =>
      Object.hasOwn(checks, tool.provider) ? checks[tool.provider]!(tool, context) : null,
  };
}
