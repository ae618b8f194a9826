export { type Hidden, hiddenOf } from '../../outgoing/index.ts';
export { checkHttpTool } from './check.ts';
export { httpTool, idempotencyKey, valuesOf } from './http.ts';
export { render, secretsIn } from './request.ts';
