export { type DeclaredTool, type RegisteredTool, registerCodeTools } from './register.ts';
export { createTool, deleteTool, getTool, listTools, toolToTest, toolToTry, updateTool } from './tools.ts';
