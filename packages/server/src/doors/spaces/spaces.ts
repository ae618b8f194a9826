import type { NewSpace, SpacePatch } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts, Who } from './parts.ts';

/** A run may begin while the others are stopped; then they are stopped again. */
const DELETE_TRIES = 20;

export async function getSpace({ db }: Pick<Parts, 'db'>, who: Who, id: string): Promise<store.SpaceRow> {
  const space = await store.findSpace(db, who, id);
  if (!space) throw notFound('space');
  return space;
}

export function listSpaces(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  asked: { member?: string | undefined; before: string | undefined; limit: number },
): Promise<store.SpaceRow[]> {
  return store.listSpaces(db, who, asked);
}

export async function createSpace(
  parts: Pick<Parts, 'db'>,
  who: Who,
  { id = newId(), ...space }: NewSpace & { id?: string },
): Promise<store.SpaceRow> {
  const created = await patiently(() => store.createSpace(parts.db, who.project, { ...space, id }));
  if (!created.ok) throw noSuchMember(created.code, `members.${created.member}.`);
  return getSpace(parts, who, id);
}

export async function updateSpace(
  parts: Parts,
  who: Who,
  id: string,
  changes: SpacePatch,
): Promise<store.SpaceRow> {
  const updated = await patiently(() => store.updateSpace(parts.db, who, id, changes));
  if (!updated.ok) throw refusalOf(updated.code);
  if (updated.changed) parts.kernel.touched(id.toLowerCase());
  return getSpace(parts, who, id);
}

/** Stops the runs that began or speak there, so that their workers hear of it, and deletes everything as one. */
export async function deleteSpace(
  { db, kernel }: Parts,
  who: Who,
  id: string,
  author: store.Author,
): Promise<void> {
  await getSpace({ db }, who, id);
  for (let attempt = 1; ; attempt++) {
    for (const run of await store.openRunsOfSpace(db, id)) await kernel.cancel(run, 'user', who.entityId);
    const deleted = await store.deleteSpace(db, author, id).catch((error: unknown) => {
      if (attempt >= DELETE_TRIES || !store.isContention(error)) throw error;
      return null;
    });
    if (deleted?.ok) return;
    if (deleted?.code === 'space_not_found') throw notFound('space');
    if (attempt >= DELETE_TRIES) {
      throw new Refusal('conflict', 'space_busy', 'The space is at work faster than it can be stopped.', {
        hint: 'Remove its members, and delete it then.',
      });
    }
  }
}

/** For what the database refuses to whoever asked. */
export function refusalOf(code: 'space_not_found' | 'not_an_admin'): Refusal {
  if (code === 'space_not_found') return notFound('space');
  return new Refusal('forbidden', 'not_an_admin', 'Only an admin of the space may do this.', {
    hint: 'Ask an admin of the space, or use a secret key, from a server.',
  });
}

export function noSuchMember(code: 'entity_not_found' | 'agent_not_found', path = ''): Refusal {
  const [what, field] = code === 'agent_not_found' ? ['agent', 'agentId'] : ['entity', 'entityId'];
  return new Refusal('invalid', code, `The project has no such ${what}.`, {
    hint: `GET /v1/${what === 'agent' ? 'agents' : 'entities'} lists those that there are.`,
    issues: [{ path: `${path}${field}`, message: `is no ${what} of this project` }],
  });
}
