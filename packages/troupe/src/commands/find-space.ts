import type { Membership, Space as SpaceRow } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { CommandError } from '../failure.ts';
import { ID } from './find-agent.ts';

/** By id, else by name, whatever the case. Two spaces may have one name: then only the id says which. */
export async function findSpace(troupe: Troupe, nameOrId: string): Promise<SpaceRow> {
  if (ID.test(nameOrId)) return troupe.spaces.get({ params: { spaceId: nameOrId } });
  const found: SpaceRow[] = [];
  for await (const space of troupe.all(({ query }) =>
    troupe.spaces.list({ query: { ...query, limit: 200 } }),
  ))
    if (space.name?.toLowerCase() === nameOrId.toLowerCase()) found.push(space);
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new CommandError(
      'space_not_found',
      `There is no space "${nameOrId}". \`troupe spaces list\` shows all.`,
    );
  const ids = found.slice(0, 5).map(({ id }) => id);
  throw new CommandError('space_ambiguous', `Several spaces are named "${nameOrId}": ${ids.join(', ')}.`);
}

/** A person, by the id of the entity or by their name in the system of the caller; or any member, by name. */
export async function findEntity(
  troupe: Troupe,
  nameOrId: string,
  members: readonly Membership[] = [],
): Promise<string> {
  if (ID.test(nameOrId)) return nameOrId;
  const { data } = await troupe.entities.list({ query: { externalId: nameOrId, limit: 1 } });
  if (data[0]) return data[0].id;
  const named = members.filter(({ name }) => name?.toLowerCase() === nameOrId.toLowerCase());
  if (named.length === 1) return named[0]!.entityId;
  throw new CommandError(
    'entity_not_found',
    `There is nobody named "${nameOrId}". \`troupe entities list\` shows all.`,
  );
}

/** Who speaks: whoever is named, else the only person of the space. */
export async function findSpeaker(
  troupe: Troupe,
  as: string | undefined,
  members: readonly Membership[],
): Promise<string> {
  if (as !== undefined) return findEntity(troupe, as, members);
  const people = members.filter(({ type }) => type === 'human');
  if (people.length === 1) return people[0]!.entityId;
  throw new CommandError(
    'sender_missing',
    people.length === 0
      ? 'No person is in the space. Add one with: troupe spaces add <space> --user <name>'
      : `Say who speaks with --as: ${people
          .slice(0, 10)
          .map(({ name }) => name)
          .join(', ')}.`,
  );
}
