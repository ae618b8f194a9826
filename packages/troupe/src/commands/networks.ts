import type { Change, NetworkDefinition } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { CommandError } from '../failure.ts';
import { changed, json, MORE, plain, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import type { Command, Surroundings } from './command.ts';
import { documentAt } from './given-files.ts';
import { show } from './show.ts';

type Definition = NonNullable<Parameters<Troupe['networks']['apply']>[0]>['body'];

export const networks: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const status = options.status
      ? { status: oneOf('status', options.status, ['draft', 'published', 'archived']) }
      : {};
    const { data, nextCursor } = await troupe.networks.list({
      query: { limit: limitOf(options), ...status },
    });
    const columns = ['id', 'name', 'status', 'currentVersion', 'agentCount', 'toolCount', 'description'];
    terminal.out(options.json ? json(data) : table(data, columns));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await given.troupe.networks.get(named(given)));
  },
  async definition(given) {
    // With names: this is the file that people keep, and apply elsewhere.
    const asked = { ...named(given), query: { names: 'true' as const } };
    given.terminal.out(json(await given.troupe.networks.definition(asked)));
  },
  async graph(given) {
    const { terminal, options } = given;
    const graph = await given.troupe.networks.graph(named(given));
    if (options.json) return terminal.out(json(graph));
    const agents = graph.agents.map(({ key, isDefault, allowRespond, tools, routes }) => ({
      agent: `${key}${isDefault ? ' (default)' : ''}`,
      responds: allowRespond ? 'yes' : 'no',
      tools: tools.join(', '),
      'routes to': routes.join(', '),
    }));
    terminal.out(table(agents, ['agent', 'responds', 'tools', 'routes to']));
  },
  async apply(given) {
    const { troupe, terminal, options, words } = given;
    const { name, body } = await readDefinition(words[0]!);
    const params = { network: name };
    const { network, changes } = await troupe.networks.apply({ params, query: { dryRun: 'true' }, body });
    if (changes.length === 0) {
      terminal.out(options.json ? json({ network, changes }) : `${plain(name)} is what the file says\n`);
      return 0;
    }
    if (!options.json) terminal.out(table(changes.map(told), ['', 'path', 'from', 'to']));
    if (!(options.yes || (await isWanted(given, network ? 'Change' : 'Make', name)))) {
      terminal.err('Nothing was changed. --yes goes on without asking.\n');
      return 1;
    }
    const applied = await troupe.networks.apply({ params, body });
    terminal.out(
      options.json
        ? json(applied)
        : `${plain(name)} is ${network ? 'changed' : 'made'}, and not published yet\n`,
    );
    return 0;
  },
  async copy(given) {
    const body = { name: given.words[1]! };
    show(given, await given.troupe.networks.copy({ ...named(given), body }));
  },
  async delete(given) {
    const network = await given.troupe.networks.get(named(given));
    await given.troupe.networks.remove({ params: { network: network.id } });
    given.terminal.out(given.options.json ? json({ id: network.id }) : `${plain(network.name)} is deleted\n`);
  },
};

function named({ words }: Surroundings) {
  return { params: { network: words[0]! } };
}

function told(change: Change) {
  const sign = change.from === undefined ? '+' : change.to === undefined ? '-' : '~';
  return changed({ '': sign, path: change.path, from: change.from, to: change.to });
}

/** Whoever answers nothing, or is not there to answer, does not want it. */
async function isWanted({ terminal }: Surroundings, what: string, name: string): Promise<boolean> {
  const question = plain(`${what} ${name}? y or n `);
  for await (const line of terminal.lines(question)) return /^y(es)?$/i.test(line.trim());
  return false;
}

async function readDefinition(path: string): Promise<{ name: string; body: Definition }> {
  const found = (await documentAt(path)) as Partial<NetworkDefinition> | null;
  if (
    found === null ||
    typeof found !== 'object' ||
    typeof found.name !== 'string' ||
    found.name.trim() === ''
  )
    throw new CommandError('file_unreadable', `${path} describes no network: it has no name.`);
  return { name: found.name.trim(), body: found as Definition };
}
