/**
 * troupe: the command line.
 * Imports: server, sdk, protocol.
 * Start reading: run.ts (which command), commands/ (what each does), output.ts (how it is shown).
 */
export { type CodeTool, type CodeToolContext, defineTools, tool } from '@troupe/server/parts';
export { run } from './run.ts';
