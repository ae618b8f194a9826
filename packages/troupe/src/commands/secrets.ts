import { json, MORE, plain, table } from '../output.ts';
import { limitOf } from '../parse.ts';
import type { Command } from './command.ts';
import { secretFrom } from './providers.ts';
import { show } from './show.ts';

export const secrets: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.access.listSecrets({ query: { limit: limitOf(options) } });
    terminal.out(options.json ? json(data) : table(data, ['name', 'createdAt', 'updatedAt']));
    if (nextCursor) terminal.err(MORE);
  },
  async set(given) {
    const { troupe, terminal, words } = given;
    const value = await secretFrom(terminal, `${plain(words[0]!)}: `);
    show(given, await troupe.access.putSecret({ params: { name: words[0]! }, body: { value } }));
  },
  async delete({ troupe, terminal, words, options }) {
    const name = words[0]!;
    await troupe.access.deleteSecret({ params: { name } });
    terminal.out(options.json ? json({ name }) : `${plain(name)} is deleted\n`);
  },
};
