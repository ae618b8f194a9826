export { type Hidden, hiddenOf } from './hidden.ts';
export { httpTool, idempotencyKey } from './http.ts';
