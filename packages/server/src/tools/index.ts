/**
 * tools: what executes the calls of models. So far those that Troupe brings itself.
 * Imports: types of kernel/ports.ts, base, protocol.
 * Start reading: tools.ts.
 */
export { createTools, type ToolsOptions } from './tools.ts';
