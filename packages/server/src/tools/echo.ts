import type { ToolExecute } from '../kernel/ports.ts';

/** Answers with what it was given: for trying out who gives which parameter. */
export const echo: ToolExecute = (args) => ({ echo: args });
