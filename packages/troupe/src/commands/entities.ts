import { entityType } from '@troupe/protocol';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import type { Command, Surroundings } from './command.ts';
import { findEntity } from './find-space.ts';
import { show } from './show.ts';

export const entities: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const type = options.type ? { type: oneOf('type', options.type, entityType.options) } : {};
    const { data, nextCursor } = await troupe.entities.list({ query: { limit: limitOf(options), ...type } });
    terminal.out(options.json ? json(data) : table(data, ['id', 'type', 'externalId', 'displayName']));
    if (nextCursor) terminal.err(MORE);
  },
  async create(given) {
    const { troupe, words, options } = given;
    const body = { externalId: words[0]!, ...(options.name ? { displayName: options.name } : {}) };
    show(given, await troupe.entities.create({ body }));
  },
  async get(given) {
    show(given, await given.troupe.entities.get({ params: { entityId: await idOf(given) } }));
  },
  async erase(given) {
    show(given, await given.troupe.entities.erase({ params: { entityId: await idOf(given) } }));
  },
  async erasure(given) {
    show(given, await given.troupe.entities.erasure({ params: { entityId: given.words[0]! } }));
  },
  async delete(given) {
    const entityId = await idOf(given);
    await given.troupe.entities.remove({ params: { entityId } });
    given.terminal.out(
      given.options.json ? json({ id: entityId }) : `${plain(given.words[0]!)} is deleted\n`,
    );
  },
};

function idOf({ troupe, words }: Surroundings): Promise<string> {
  return findEntity(troupe, words[0]!);
}
