export { checkHttpTool } from './check.ts';
export { type Hidden, hiddenOf } from './hidden.ts';
export { httpTool, idempotencyKey, valuesOf } from './http.ts';
export { render, secretsIn } from './request.ts';
