import type { ToolExecute } from '../kernel/ports.ts';

/** Answers with its arguments: for trying out what a tool would be called with. */
export function echoTool(): ToolExecute {
  return (args) => args;
}
