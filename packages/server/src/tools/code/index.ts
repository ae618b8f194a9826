export { codeTool } from './code.ts';
export { type CodeTool, type CodeToolContext, defineTools, type StandardSchema, tool } from './define.ts';
export { type CodeFunction, type CodeFunctions, codeFunctions } from './functions.ts';
