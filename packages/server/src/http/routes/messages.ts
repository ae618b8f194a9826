import { type PostedMessage, runEndpoints, sessionEndpoints } from '@troupe/protocol';
import { listMessages, postMessage } from '../../doors/sessions/index.ts';
import { listRunMessages } from '../../runs/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentMessage } from '../present/session.ts';
import { traceparentIn } from '../traceparent.ts';

export function messageRoutes(endpoints: Endpoints): void {
  endpoints.serve(sessionEndpoints.postMessage, async ({ services, caller, params, body, context, id }) => {
    const posting = { id, ...body, ...traceparentIn(context) };
    const { message, run } = await postMessage(services, caller, params, posting);
    return { ...presentMessage(params.sessionId, message), run } as PostedMessage;
  });
  endpoints.serve(sessionEndpoints.listMessages, async ({ services, caller, params, query }) => {
    const { messages, lastSequence } = await listMessages(services, caller, params, query);
    return { data: messages.map((message) => presentMessage(params.sessionId, message)), lastSequence };
  });
  endpoints.serve(runEndpoints.messages, async ({ services, caller, params, query }) => {
    const { run, messages, lastSequence } = await listRunMessages(services, caller, params.runId, query);
    return { data: messages.map((message) => presentMessage(run.sessionId, message)), lastSequence };
  });
}
