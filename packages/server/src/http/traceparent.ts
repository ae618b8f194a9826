import type { Context } from 'hono';

/** Who asked, as W3C Trace Context has it. It goes with the run, whose span is linked to it; anything else is passed over. */
export function traceparentIn({ req }: Context): { traceparent?: string } {
  const given = req.header('traceparent') ?? '';
  return /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(given) ? { traceparent: given } : {};
}
