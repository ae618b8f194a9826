export { type DeclaredTool, type RegisteredTool, registerCodeTools } from './register.ts';
export { createTool, deleteTool, getTool, listTools, toolToTry, updateTool } from './tools.ts';
