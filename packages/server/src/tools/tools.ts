import type { Tools } from '../kernel/ports.ts';
import { builtinTools } from './builtin/index.ts';
import { codeTool } from './code/index.ts';
import { echo } from './echo.ts';
import { withGiven } from './given.ts';
import { httpTool } from './http/index.ts';
import type { Provider, ToolParts } from './ports.ts';
import { staticTool } from './static.ts';

/** Resolves what this process can execute, by the provider that a snapshot names. */
export function createTools(parts: Partial<ToolParts> = {}): Tools {
  const builtin = builtinTools(parts);
  const { secrets, outgoing, systemParams, code } = parts;
  const providers: Record<string, Provider> = {
    builtin: (tool) => builtin.get(tool.name)?.(tool),
    ...(secrets && outgoing ? { http: httpTool({ secrets, outgoing }) } : {}),
    static: staticTool,
    echo: () => echo,
    ...(code ? { code: codeTool(code, secrets) } : {}),
  };
  return {
    code: [...(code?.keys() ?? [])].sort(),
    resolve: (tool) => {
      const execute = Object.hasOwn(providers, tool.provider) ? providers[tool.provider]!(tool) : undefined;
      return execute && withGiven(tool, execute, systemParams);
    },
  };
}
