import type { Context, MiddlewareHandler } from 'hono';
import { newId } from '../base/index.ts';

declare module 'hono' {
  interface ContextVariableMap {
    requestId: string;
  }
}

export const REQUEST_ID = 'troupe-request-id';

/** What the log has this request under. */
export function requestIdOf(context: Context): string {
  const known = context.get('requestId');
  if (known !== undefined) return known;
  const id = newId();
  context.set('requestId', id);
  return id;
}

/**
 * On every answer: the number to ask about it by, and that it is what its content type says. Pages of other origins read
 * answers only where the settings name theirs, see app.ts.
 */
export const everyAnswer: MiddlewareHandler = async (context, next) => {
  const id = requestIdOf(context);
  await next();
  context.header(REQUEST_ID, id);
  context.header('x-content-type-options', 'nosniff');
};
