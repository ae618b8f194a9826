/**
 * definitions/tools: tools as people define them, their checks, and their form in snapshots. `tools/` executes them.
 * Imports: store, base, protocol.
 * Start reading: tools.ts (rows), check.ts (what is rejected), snapshot-tools.ts (what a run gets).
 */
export { addressProblem, checkTool, TAKEN_HEADERS } from './check.ts';
export { definitionOf, toWrite } from './definition.ts';
export { brokenOf, paramIssues, schemasOf } from './params.ts';
export { registerCodeTools } from './register.ts';
export { toolsOf, toSnapshotTool } from './snapshot-tools.ts';
export {
  checkedTool,
  createTool,
  deleteTool,
  getTool,
  listTools,
  toolToTest,
  toolToTry,
  updateTool,
} from './tools.ts';
