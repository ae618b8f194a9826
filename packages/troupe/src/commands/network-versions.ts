import { readFile } from 'node:fs/promises';
import type { NetworkFile, NetworkProblem } from '@troupe/protocol';
import { CommandError } from '../failure.ts';
import { changed, json, MORE, plain, table } from '../output.ts';
import { limitOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { show } from './show.ts';

/** What becomes of a network once it is published. */
export const networkVersions: Record<string, Command> = {
  async validate(given) {
    const { troupe, terminal, options } = given;
    const { ok, problems } = await troupe.networks.validate(named(given));
    if (options.json) terminal.out(json(problems));
    else terminal.out(ok ? 'Nothing is wrong with it.\n' : whole(problems));
    return ok ? 0 : 1;
  },
  async publish(given) {
    const { troupe, terminal, options, words } = given;
    const notes = options.notes === undefined ? {} : { notes: options.notes };
    const made = await troupe.networks.publish({ ...named(given), body: notes });
    if (options.json) return terminal.out(json(made));
    const what = made.created ? 'is now' : 'has not changed, and stays';
    terminal.out(`${plain(words[0]!)} ${what} at version ${made.version}\n`);
  },
  async versions(given) {
    const query = { limit: limitOf(given.options) };
    const { data, nextCursor } = await given.troupe.networks.versions({ ...named(given), query });
    const columns = ['version', 'isCurrent', 'publishedAt', 'publishedBy', 'checksum', 'notes'];
    given.terminal.out(given.options.json ? json(data) : table(data, columns));
    if (nextCursor) given.terminal.err(MORE);
  },
  async diff(given) {
    const query = { from: numberAt(given, 1, '<from>'), to: numberAt(given, 2, '<to>') };
    const { changes } = await given.troupe.networks.diff({ ...named(given), query });
    given.terminal.out(
      given.options.json ? json(changes) : table(changes.map(changed), ['path', 'from', 'to']),
    );
  },
  async rollback(given) {
    const body = { version: numberAt(given, 1, '<version>') };
    show(given, await given.troupe.networks.rollback({ ...named(given), body }));
  },
  async archive(given) {
    show(given, await given.troupe.networks.archive({ ...named(given), body: { archived: true } }));
  },
  async unarchive(given) {
    show(given, await given.troupe.networks.archive({ ...named(given), body: { archived: false } }));
  },
  async export(given) {
    const { troupe, terminal, words } = given;
    const version = words[1] === undefined ? await currentOf(given) : numberAt(given, 1, '[version]');
    const params = { network: words[0]!, version };
    terminal.out(json(await troupe.networks.export({ params })));
  },
  async import(given) {
    const file = await fileAt(given.words[0]!);
    const name = given.options.name === undefined ? {} : { name: given.options.name };
    show(given, await given.troupe.networks.import({ body: { ...file, ...name } }));
  },
};

/** What is wrong is said to its end. */
function whole(problems: NetworkProblem[]): string {
  return table(problems, ['path', 'code', 'message'], { longest: Number.POSITIVE_INFINITY });
}

function named({ words }: Surroundings) {
  return { params: { network: words[0]! } };
}

async function currentOf(given: Surroundings): Promise<number> {
  const { currentVersion } = await given.troupe.networks.get(named(given));
  if (currentVersion !== null) return currentVersion;
  throw new CommandError('network_not_published', `${given.words[0]} has no version yet.`);
}

async function fileAt(path: string): Promise<NetworkFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === 'ENOENT' ? 'there is no such file' : error.message;
    throw new CommandError('file_unreadable', `${path} cannot be read: ${problem}.`);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError('file_unreadable', `${path} is no JSON, as \`networks export\` writes it.`);
  }
}

function numberAt({ words }: Surroundings, at: number, what: string): number {
  const number = Number(words[at]);
  if (!Number.isInteger(number)) throw new UsageError(`${what} must be a number`);
  return number;
}
