export { createTool, deleteTool, getTool, listTools, toolToTry, updateTool } from './tools.ts';
