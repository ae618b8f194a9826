import type { McpServer } from '@troupe/protocol';
import { type Troupe, TroupeClientError } from '@troupe/sdk';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, listOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command } from './command.ts';
import { ID } from './find-agent.ts';
import { show } from './show.ts';

/** MCP servers. */
export const mcp: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.mcpServers.list({ query: { limit: limitOf(options) } });
    const rows = data.map((server) => ({ ...server, where: whereOf(server) }));
    terminal.out(options.json ? json(data) : table(rows, ['id', 'name', 'transport', 'where']));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await find(given.troupe, given.words[0]!));
  },
  async add(given) {
    const { troupe, words, options } = given;
    const [name, where, ...args] = words as [string, string, ...string[]];
    const { header = [], env = [], allow } = options;
    const http = /^https?:\/\//i.test(where);
    if (http && (args.length > 0 || env.length > 0))
      throw new UsageError('a server at an address takes neither arguments nor --env');
    if (!http && header.length > 0) throw new UsageError('a program takes no --header');
    const place = http
      ? { transport: 'http' as const, url: where, headers: pairs('header', header, ':') }
      : { transport: 'stdio' as const, command: where, args, env: pairs('env', env, '=') };
    const allowed = allow === undefined ? {} : { allow: listOf('allow', allow) };
    show(given, await troupe.mcpServers.create({ body: { name, ...place, ...allowed } }));
  },
  async test(given) {
    const { troupe, terminal, words, options } = given;
    const { id } = await find(troupe, words[0]!);
    const { tools, ...found } = await troupe.mcpServers.test({ params: { mcpServerId: id }, body: {} });
    if (options.json) terminal.out(json({ ...found, tools }));
    else {
      show(given, found);
      // Enough of the hash to tell two of them apart.
      const rows = tools.map((tool) => ({ ...tool, hash: tool.definitionHash.slice(0, 12) }));
      if (found.ok) terminal.out(`\n${table(rows, ['name', 'allowed', 'hash', 'description'])}`);
    }
    return found.ok ? 0 : 1;
  },
  async import({ troupe, terminal, words, options }) {
    const { id } = await find(troupe, words[0]!);
    const body = options.tools === undefined ? {} : { tools: listOf('tools', options.tools) };
    const done = await troupe.mcpServers.import({ params: { mcpServerId: id }, body });
    const { refused, ...imported } = done;
    const rows = [
      ...Object.entries(imported).flatMap(([what, tools]) =>
        tools.map(({ tool, name }) => ({ tool, name, done: what, why: '' })),
      ),
      ...refused.map(({ tool, message }) => ({ tool, name: '', done: 'refused', why: message })),
    ];
    terminal.out(options.json ? json(done) : table(rows, ['tool', 'name', 'done', 'why']));
    return refused.length > 0 ? 1 : 0;
  },
  async delete({ troupe, terminal, words, options }) {
    const { id, name } = await find(troupe, words[0]!);
    await troupe.mcpServers.remove({ params: { mcpServerId: id } });
    terminal.out(options.json ? json({ id }) : `${plain(name)} is deleted\n`);
  },
};

function whereOf({ url, command, args }: McpServer): string {
  return url ?? [command, ...args].join(' ');
}

/** `name: value` or `NAME=value`, as others write them. */
function pairs(option: string, given: string[], between: ':' | '='): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf(between);
      if (at <= 0)
        throw new UsageError(`--${option} must be a name and a value with "${between}" between them`);
      return [text.slice(0, at).trim(), between === ':' ? text.slice(at + 1).trim() : text.slice(at + 1)];
    }),
  );
}

async function find(troupe: Troupe, nameOrId: string): Promise<McpServer> {
  if (ID.test(nameOrId)) return troupe.mcpServers.get({ params: { mcpServerId: nameOrId } });
  const [found] = (await troupe.mcpServers.list({ query: { name: nameOrId } })).data;
  if (!found)
    throw new TroupeClientError(`There is no MCP server "${nameOrId}". \`troupe mcp list\` shows all.`);
  return found;
}
