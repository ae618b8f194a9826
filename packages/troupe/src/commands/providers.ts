import { providerKind } from '@troupe/protocol';
import { CommandError } from '../failure.ts';
import { json, MORE, plain, table } from '../output.ts';
import { choiceOf, limitOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findProvider } from './find-model.ts';
import { show } from './show.ts';

export const providers: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.models.listProviders({ query: { limit: limitOf(options) } });
    terminal.out(
      options.json ? json(data) : table(data, ['id', 'name', 'kind', 'baseUrl', 'keySet', 'status']),
    );
    if (nextCursor) terminal.err(MORE);
  },
  async add(given) {
    const { troupe, words, options } = given;
    const kind = choiceOf('<kind>', words[0]!, providerKind.options);
    const apiKey = await apiKeyOf(given);
    const body = {
      kind,
      name: options.name ?? kind,
      ...(options['base-url'] ? { baseUrl: options['base-url'] } : {}),
      ...(apiKey === null ? {} : { apiKey }),
    };
    show(given, await troupe.models.createProvider({ body }));
  },
  async remove({ troupe, terminal, words, options }) {
    const { id, name } = await findProvider(troupe, words[0]!);
    await troupe.models.deleteProvider({ params: { providerId: id } });
    terminal.out(options.json ? json({ id }) : `${plain(name)} is removed\n`);
  },
};

/** Never a word of the command line: those stay in the history of the shell and are seen by everybody on the machine. */
async function apiKeyOf({ terminal, options }: Surroundings): Promise<string | null> {
  const variable = options['api-key-env'];
  if (variable !== undefined && options['api-key-stdin'])
    throw new UsageError('--api-key-env and --api-key-stdin exclude each other');
  if (options['api-key-stdin']) return secretFrom(terminal, 'API key: ');
  if (variable === undefined) return null;
  const key = terminal.env[variable];
  if (!key) throw new CommandError('variable_not_set', `The environment variable ${variable} is not set.`);
  return key;
}

export async function secretFrom(terminal: Surroundings['terminal'], prompt: string): Promise<string> {
  const value = await terminal.secret(prompt);
  if (value === '') throw new CommandError('no_value', 'Nothing came in: pipe the value in, or type it.');
  return value;
}
