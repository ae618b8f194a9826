import { type SnapshotTool, toolRequest } from '@troupe/protocol';
import { hiddenOf } from '../../outgoing/index.ts';
import type { ToolParts } from '../ports.ts';
import { failureOf, valuesOf } from './http.ts';
import { secretsIn } from './request.ts';

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 1_000;

/** Whether its secrets are there and its server can be reached. Neither a secret nor an argument is sent, so nothing takes effect. */
export function checkHttpTool({ secrets, outgoing }: Pick<ToolParts, 'secrets' | 'outgoing'>) {
  return async (
    { config }: SnapshotTool,
    { projectId, signal }: { projectId: string; signal: AbortSignal },
  ): Promise<string> => {
    const request = toolRequest.parse(config.request);
    await valuesOf(secrets, projectId, secretsIn(request));
    const { origin } = new URL(request.url);
    try {
      const { status } = await outgoing.request({
        project: projectId,
        url: `${origin}/`,
        method: 'HEAD',
        signal,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MOST_BYTES,
        overflow: 'cut',
        redirects: 0,
      });
      return `${origin} answered HEAD / with the status ${status}. The tool was not called.`;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = failureOf(error, hiddenOf(new Map()));
      // Somebody was there to redirect.
      if (failure.code === 'too_many_redirects')
        return `${origin} answered HEAD / with a redirect. The tool was not called.`;
      throw failure;
    }
  };
}
