import type { BodyOf, clientEndpoints, QueryOf } from '@troupe/protocol';
import { notFound, type Page, Refusal, readPageById } from '../base/index.ts';
import * as store from '../store/index.ts';
import type { Caller } from './caller.ts';

// The programs of people: which there are, what they can do, and whether they are there. A person reaches their own.

export async function registerClient(
  db: store.Database,
  caller: Caller,
  { entityId, ...client }: BodyOf<typeof clientEndpoints.register>,
): Promise<store.ClientRow> {
  if (caller.entityId !== null && entityId !== undefined) {
    throw new Refusal('forbidden', 'forbidden', 'A person can register programs of their own only.', {
      hint: 'Leave `entityId` out, or use a secret key.',
    });
  }
  const entity = caller.entityId ?? entityId;
  if (entity === undefined) {
    throw new Refusal('invalid', 'invalid_request', 'It is not said whose program it is.', {
      hint: 'A key says so with `entityId`.',
      issues: [{ path: 'entityId', message: 'is required where a key asks' }],
    });
  }
  const mayMove = caller.entityId === null;
  const registered = await store.registerClient(db, caller.project, { ...client, entity, mayMove });
  if (registered === 'entity_not_found') {
    throw new Refusal('invalid', 'entity_not_found', 'There is no such person in the project.', {
      hint: 'Programs belong to people: POST /v1/entities registers one.',
      issues: [{ path: 'entityId', message: 'is no person of this project' }],
    });
  }
  if (registered === 'client_key_taken') {
    throw new Refusal('conflict', 'client_key_taken', 'The key belongs to a program of somebody else.', {
      hint: 'Let every installation choose a key of its own, such as a random one.',
    });
  }
  return registered;
}

export async function listClients(
  db: store.Database,
  caller: Caller,
  { entityId, ...query }: QueryOf<typeof clientEndpoints.list>,
): Promise<Page<store.ClientRow>> {
  return readPageById(query, (range) => store.listClients(db, caller, { entityId, ...range }));
}

export async function touchClient(db: store.Database, caller: Caller, id: string): Promise<store.ClientRow> {
  const found = await store.touchClient(db, caller, id);
  if (!found) throw notFound('client');
  return found;
}

export async function deleteClient(db: store.Database, caller: Caller, id: string): Promise<void> {
  if (!(await store.deleteClient(db, caller, id))) throw notFound('client');
}
