import { readFile } from 'node:fs/promises';
import { TroupeClientError } from '@troupe/sdk';
import { json, record, table } from '../output.ts';
import { wordAt } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';

export const agents: Command = async (given) => {
  const [action = 'list', ...words] = given.words;
  const act = actions[action];
  if (!act) throw new UsageError(`agents does not know "${action}"`);
  await act({ ...given, words });
};

const actions: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data } = await troupe.agents.list({ query: { limit: Number(options.limit ?? 50) } });
    terminal.out(options.json ? json(data) : table(data, ['id', 'name', 'version', 'description']));
  },
  async get(given) {
    show(given, await find(given));
  },
  async create(given) {
    const name = wordAt(given.words, 0, 'the name');
    show(
      given,
      await given.troupe.agents.create({ body: { name, systemPrompt: given.options.prompt ?? '' } }),
    );
  },
  async import(given) {
    const file = wordAt(given.words, 0, 'the file');
    const text = await readFile(file, 'utf8').catch((error: Error) => {
      throw new TroupeClientError(`${file} cannot be read: ${error.message}`);
    });
    show(given, await given.troupe.agents.importOne({ body: text }));
  },
  async export(given) {
    const agent = await find(given);
    const format = (given.options.format ?? 'markdown') as 'markdown' | 'yaml' | 'json';
    const text: unknown = await given.troupe.agents.exportOne({
      params: { agentId: agent.id },
      query: { format },
    });
    given.terminal.out(typeof text === 'string' ? text : json(text));
  },
  async versions(given) {
    const agent = await find(given);
    const { data } = await given.troupe.agents.listVersions({ params: { agentId: agent.id } });
    given.terminal.out(
      given.options.json ? json(data) : table(data, ['version', 'createdAt', 'checksum', 'notes']),
    );
  },
  async diff(given) {
    const agent = await find(given);
    const query = { from: numberAt(given, 1, 'from'), to: numberAt(given, 2, 'to') };
    const { changes } = await given.troupe.agents.diff({ params: { agentId: agent.id }, query });
    given.terminal.out(given.options.json ? json(changes) : table(changes, ['path', 'from', 'to']));
  },
  async rollback(given) {
    const agent = await find(given);
    const body = { version: numberAt(given, 1, 'the version') };
    show(given, await given.troupe.agents.rollback({ params: { agentId: agent.id }, body }));
  },
  async preview(given) {
    const agent = await find(given);
    const preview = await given.troupe.agents.preview({ params: { agentId: agent.id } });
    if (given.options.json) return given.terminal.out(json(preview));
    const tools = table(preview.tools, ['name', 'effect', 'description']);
    given.terminal.out(`${preview.prompt}\n\n${tools}\n${table(preview.models, ['provider', 'model'])}`);
  },
  async archive(given) {
    const agent = await find(given);
    await given.troupe.agents.archive({ params: { agentId: agent.id } });
    given.terminal.out(given.options.json ? json({ id: agent.id }) : `${agent.name} is archived\n`);
  },
};

function find({ troupe, words }: Surroundings) {
  return findAgent(troupe, wordAt(words, 0, 'the agent'));
}

function numberAt({ words }: Surroundings, at: number, what: string): number {
  const number = Number(wordAt(words, at, what));
  if (!Number.isInteger(number)) throw new UsageError(`${what} must be a number`);
  return number;
}

function show({ terminal, options }: Surroundings, thing: object): void {
  terminal.out(options.json ? json(thing) : record(thing as Record<string, unknown>));
}
