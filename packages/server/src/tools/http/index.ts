export { httpTool, idempotencyKey } from './http.ts';
