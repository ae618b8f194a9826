import {
  type Collection,
  type Endpoint,
  scopesOfCollection,
  syncEndpoints,
  syncSchemas,
} from '@troupe/protocol';
import { authorize, type Caller } from '../../access/index.ts';
import { Refusal } from '../../base/index.ts';
import {
  createSession,
  deleteSession,
  postMessage,
  updateUnchangedSession,
} from '../../doors/sessions/index.ts';
import { markRead, postToSpace } from '../../doors/spaces/index.ts';
import { createOutsideTask } from '../../doors/tasks/index.ts';
import { findSpeaker } from '../../store/index.ts';
import { type Actions, pullChanges, pushRows, WRITABLE } from '../../sync/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { onlyLive, streamAnswer, wantsStream } from '../event-stream.ts';
import type { Services } from '../services.ts';

export function syncRoutes(endpoints: Endpoints): void {
  endpoints.serve(syncEndpoints.schema, () => ({
    collections: syncSchemas() as never,
    writable: [...WRITABLE],
  }));
  endpoints.serve(syncEndpoints.pull, async (call) => {
    const { services, params, query } = call;
    const { checkpoint, limit, chat = null } = query;
    const { project, entityId } = await whoseCopy(call);
    return pullChanges(services.db, params.collection, { project, entityId, chat }, { checkpoint, limit });
  });
  endpoints.serve(syncEndpoints.push, async (call) => {
    const { services, params, body } = call;
    const who = await whoseCopy(call, 'write');
    return pushRows(services.db, params.collection, who, actionsOf(services, who), body.rows);
  });
  endpoints.serve(syncEndpoints.stream, (call) => follow(call, [call.params.collection]));
  endpoints.serve(syncEndpoints.streams, (call) =>
    follow(call, [...new Set(call.query.collections.split(','))] as Collection[]),
  );
}

async function follow(call: Asked, collections: Collection[]): Promise<Response> {
  const { services, context, query } = call;
  if (!wantsStream(context)) throw onlyLive('GET /v1/sync/{collection}/pull answers with JSON.');
  const copies = collections.map((collection) => whoseCopy({ ...call, params: { collection } }));
  const { project, entityId } = (await Promise.all(copies))[0]!;
  const { headers } = context.req.raw;
  return streamAnswer(
    services.followers.open(
      collections,
      { project, entityId, chat: query.chat ?? null },
      {
        mayStay: async () => {
          const caller = await services.access.authenticate(headers);
          for (const collection of collections) mayCopy(caller, collection, 'read');
        },
      },
    ),
  );
}

type Asked = Pick<Call<Endpoint>, 'caller' | 'services' | 'context'> & {
  query: { user?: string | undefined; chat?: string | undefined };
};

/** Whoever could not read or write it elsewhere may not here. */
function mayCopy(caller: Caller, collection: Collection, access: 'read' | 'write'): void {
  authorize(caller, { scope: syncEndpoints[access === 'read' ? 'pull' : 'push'].scope, user: true });
  const { [access]: scope, read } = scopesOfCollection[collection];
  authorize(caller, { scope: scope ?? read, user: true });
}

/** The caller, or the person whom a key names; where the key has the scope of the collection too. */
async function whoseCopy(
  {
    caller,
    services,
    params,
    query,
  }: Pick<Asked, 'caller' | 'services' | 'query'> & { params: { collection: Collection } },
  access: 'read' | 'write' = 'read',
): Promise<Caller> {
  mayCopy(caller, params.collection, access);
  const { user } = query;
  if (user === undefined) return caller;
  if (caller.entityId !== null) {
    throw new Refusal('forbidden', 'forbidden', 'A person has their own copy only.', {
      hint: 'Leave `user` out, or use a secret key.',
    });
  }
  const found = await findSpeaker(services.db, caller.project, { externalId: user });
  if (!found) {
    throw new Refusal('invalid', 'entity_not_found', `There is nobody named ${user} in the project.`, {
      hint: 'POST /v1/entities registers a person; GET /v1/entities lists all.',
      issues: [{ path: 'user', message: 'is no person of this project' }],
    });
  }
  return { ...caller, entityId: found.id };
}

/** Whatever is pushed is done as if it had been asked for by itself. */
function actionsOf(services: Services, who: Caller): Actions {
  return {
    postToSession: (at, message) => postMessage(services, who, at, message),
    postToSpace: (space, message) =>
      postToSpace(services, who, space, { ...message, mentions: [], startsRuns: true }),
    openSession: ({ agentId, userId, ...session }) =>
      createSession(services, who, agentId, { ...session, entityId: userId }),
    changeSession: (at, fields, unchangedSince) =>
      updateUnchangedSession(services, who, at, fields, unchangedSince),
    deleteSession: (at) => deleteSession(services, who, at, authorOf(who)),
    createTask: (task) => createOutsideTask(services, who, task),
    markRead: (space, messageId, entityId) => markRead(services, who, space, { messageId, entityId }),
  };
}
