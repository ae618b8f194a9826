import { createHash } from 'node:crypto';
import { type SnapshotTool, toolRequest, toolResponse } from '@troupe/protocol';
import { messageOf, TroupeError } from '../../base/index.ts';
import type { ToolContext, ToolExecute } from '../../kernel/ports.ts';
import { type Hidden, hiddenOf } from '../../outgoing/index.ts';
import type { SecretValues, ToolParts } from '../ports.ts';
import { outcomeOf } from './answer.ts';
import { type Rendered, render, secretsIn } from './request.ts';

/** The worker's clock ends a call in time and says so; this one only makes sure. */
const SPARE_MS = 1_000;

/** A tool that is a request to a server. What it needs of secrets is read for each call, and hidden in all that comes back. */
export function httpTool({ secrets, outgoing }: Pick<ToolParts, 'secrets' | 'outgoing'>) {
  return ({ config, timeoutMs }: SnapshotTool): ToolExecute => {
    const request = toolRequest.parse(config.request);
    const response = toolResponse.parse(config.response ?? {});
    return async (args, context) => {
      const values = await valuesOf(secrets, context.projectId, secretsIn(request));
      const hidden = hiddenOf([...values, ...(context.hides ?? [])]);
      try {
        const rendered = render(request, { input: args, secrets: values });
        context.onRequest?.(shown(rendered, hidden));
        const headers = { ...rendered.headers, 'idempotency-key': idempotencyKey(context) };
        const { url, method, body } = rendered;
        const answer = await outgoing.request({
          project: context.projectId,
          url,
          method,
          headers,
          ...(body === undefined ? {} : { body }),
          signal: context.signal,
          timeoutMs: timeoutMs + SPARE_MS,
          maxBytes: response.maxBytes,
          overflow: 'cut',
        });
        return outcomeOf(answer, response, hidden);
      } catch (error) {
        if (context.signal.aborted) throw context.signal.reason;
        throw failureOf(error, hidden);
      }
    };
  };
}

/**
 * The same for every try of one call, whoever executes it, and of no other call. With the run's id in it, so that the log of whoever
 * is asked leads back here; a hash of the call's, since models name calls as they like.
 */
export function idempotencyKey({ runId, callId }: Pick<ToolContext, 'runId' | 'callId'>): string {
  return `${runId}-${createHash('sha256').update(callId).digest('hex').slice(0, 32)}`;
}

export async function valuesOf(
  secrets: SecretValues,
  project: string,
  names: string[],
): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  for (const name of names) {
    const value = await secrets.reveal(project, name);
    if (value === null) {
      throw new TroupeError(
        'secret_missing',
        `The tool needs the secret "${name}", which the project does not have. Somebody who runs the project must set it.`,
      );
    }
    values.set(name, value);
  }
  return values;
}

/** Anew and without its cause: what was thrown may have been made from what we sent. */
export function failureOf(error: unknown, hidden: Hidden): TroupeError {
  const code = error instanceof TroupeError ? error.code : 'tool_error';
  // It quotes the beginning of an address, in which a value may be cut in two.
  if (code === 'address_invalid')
    return new TroupeError(code, 'The server redirects to something that is no address of the web.');
  if (error instanceof RangeError)
    return new TroupeError('response_too_deep', 'The answer is JSON nested too deep to be read.');
  return new TroupeError(code, hidden.text(messageOf(error)));
}

/** For people. What a value would look like between other letters is hidden too. */
function shown({ url, method, headers, body }: Rendered, hidden: Hidden) {
  return {
    method,
    url: hidden.text(url),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [hidden.text(name), hidden.text(value)]),
    ),
    body: body === undefined ? null : beginningOf(hidden.text(body)),
  };
}

function beginningOf(body: string): string {
  return body.length > 10_000 ? `${body.slice(0, 10_000).toWellFormed()}…` : body;
}
