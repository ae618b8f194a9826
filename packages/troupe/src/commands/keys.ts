import { type ApiKey, scope } from '@troupe/protocol';
import { json, MORE, plain, table } from '../output.ts';
import { choiceOf, limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command } from './command.ts';
import { ID } from './find-agent.ts';
import { allOf, theOne } from './find-model.ts';
import { show } from './show.ts';

const COLUMNS = ['id', 'name', 'kind', 'prefix', 'scopes', 'expiresAt', 'lastUsedAt', 'revokedAt'];

export const keys: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.access.listKeys({ query: { limit: limitOf(options) } });
    terminal.out(options.json ? json(data) : table(data, COLUMNS));
    if (nextCursor) terminal.err(MORE);
  },
  async create(given) {
    const { troupe, terminal, words, options } = given;
    const kind = oneOf('kind', options.kind ?? 'secret', ['secret', 'public']);
    const scopes = (options.scopes ?? '').split(',').filter((each) => each !== '');
    const body = {
      name: words[0]!,
      kind,
      scopes: scopes.map((each) => choiceOf('a scope', each.trim(), scope.options)),
      ...(options.expires ? { expiresAt: timeOf(options.expires) } : {}),
    };
    show(given, await troupe.access.createKey({ body }));
    if (!options.json) terminal.err('Keep the key: it is not shown again.\n');
  },
  async revoke({ troupe, terminal, words, options }) {
    const given = words[0]!;
    // Names may be given to several keys: only those count that still open something.
    const keyId = ID.test(given)
      ? given
      : theOne(
          'key',
          given,
          (await allOf<ApiKey>(troupe, (input) => troupe.access.listKeys(input))).filter(
            ({ revokedAt }) => revokedAt === null,
          ),
          ({ name, prefix }) => [name, prefix],
        ).id;
    await troupe.access.revokeKey({ params: { keyId } });
    terminal.out(options.json ? json({ id: keyId }) : `${plain(given)} is revoked\n`);
  },
};

function timeOf(given: string): string {
  const time = new Date(given);
  if (Number.isNaN(time.getTime())) throw new UsageError('--expires must be a time, such as 2030-01-31');
  return time.toISOString();
}
