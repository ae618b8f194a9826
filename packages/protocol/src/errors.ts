import { z } from 'zod';

/** RFC 9457. Programs read the code, which never changes; people read the detail. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: z.string(),
  detail: z.string(),
  /** What is wrong with the request, field by field. */
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof problem>;

/** What any endpoint may answer with. Those of one endpoint alone stand beside it. */
export const commonProblems = {
  malformed_json: 'The body is no JSON.',
  invalid_request: 'A field is missing, unknown or of the wrong kind; `issues` says which.',
  unauthenticated: 'There is no key, or it is unknown, revoked or out of date.',
  forbidden: 'The key or the token does not allow this.',
  not_found: 'There is nothing under this address, or it belongs to another project.',
  method_not_allowed: 'The address is right, the method is not.',
  unsupported_media_type: 'The content type is not one that the endpoint takes.',
  body_too_large: 'The body is larger than the endpoint takes.',
  idempotency_conflict: 'The Idempotency-Key was used before, for another request.',
  request_under_way:
    'The first request with this Idempotency-Key is still under way; `Retry-After` says when to ask again.',
  answer_not_kept: 'The request was carried out before, and its answer is shown only once.',
  address_too_long: 'The address with its query is longer than 8,000 characters.',
  headers_too_large: 'Address and headers together are larger than 16 KiB.',
  malformed_request: 'What was sent is no HTTP/1.1, or ended before it was complete.',
  request_timeout: 'The request did not arrive in time.',
  rate_limited: 'Too many requests; `Retry-After` says when to come back.',
  database_unavailable: 'The database does not answer. Nothing is known to have changed; try again.',
  internal_error: 'Something went wrong here; the log has it under the number in the detail.',
} as const;
