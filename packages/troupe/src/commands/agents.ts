import { readFile } from 'node:fs/promises';
import type { Agent, Json } from '@troupe/protocol';
import { CommandError } from '../failure.ts';
import { changed, json, MORE, plain, table } from '../output.ts';
import { limitOf, listOf, onceGiven, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';
import { modelIdOf } from './find-model.ts';
import { show } from './show.ts';

export const agents: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const status = oneOf('status', options.status ?? 'active', ['active', 'archived']);
    const { data, nextCursor } = await troupe.agents.list({ query: { limit: limitOf(options), status } });
    terminal.out(options.json ? json(data) : table(data, ['id', 'name', 'version', 'description']));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await find(given));
  },
  async create(given) {
    const { words, options, troupe } = given;
    const name = words[0]!;
    const model = options.model ? { defaultModelId: await modelIdOf(troupe, options.model) } : {};
    const body = { name, systemPrompt: options.prompt ?? '', ...model, ...carriedIn(options) };
    show(given, await troupe.agents.create({ body }));
  },
  async update(given) {
    const { options, troupe } = given;
    const { prompt, model, name, description, notes, capabilities, tools, approvals } = options;
    const changes = [prompt, model, name, description, capabilities, tools, approvals];
    if (changes.every((each) => each === undefined))
      throw new UsageError(
        'there is nothing to change',
        'Give --prompt, --model, --name, --description, --capabilities, --tools or --approvals; the value "none" clears all of them but prompt and name.',
      );
    const agent = await find(given);
    const body = {
      ...(prompt === undefined ? {} : { systemPrompt: prompt }),
      ...(model === undefined
        ? {}
        : { defaultModelId: model === 'none' ? null : await modelIdOf(troupe, model) }),
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description: description === 'none' ? null : description }),
      ...carriedIn(options, agent),
      ...(notes === undefined ? {} : { notes }),
    };
    show(given, await troupe.agents.update({ params: { agentId: agent.id }, body }));
  },
  async import(given) {
    const file = given.words[0]!;
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      const problem = error.code === 'ENOENT' ? 'there is no such file' : error.message;
      throw new CommandError('file_unreadable', `${file} cannot be read: ${problem}.`);
    });
    show(given, await given.troupe.agents.importOne({ body: text }));
  },
  async export(given) {
    const { json: asJson, format: asked = asJson ? 'json' : 'markdown' } = given.options;
    const format = oneOf('format', asked, ['markdown', 'yaml', 'json']);
    if (asJson && format !== 'json') throw new UsageError(`--json and --format ${format} exclude each other`);
    const agent = await find(given);
    const text = await given.troupe.agents.exportOne({
      params: { agentId: agent.id },
      query: { format },
    });
    given.terminal.out(text.endsWith('\n') ? text : `${text}\n`);
  },
  async versions(given) {
    const agent = await find(given);
    const { data, nextCursor } = await given.troupe.agents.listVersions({
      params: { agentId: agent.id },
      query: { limit: limitOf(given.options) },
    });
    given.terminal.out(
      given.options.json ? json(data) : table(data, ['version', 'createdAt', 'checksum', 'notes']),
    );
    if (nextCursor) given.terminal.err(MORE);
  },
  async diff(given) {
    const agent = await find(given);
    const query = { from: numberAt(given, 1, '<from>'), to: numberAt(given, 2, '<to>') };
    const { changes } = await given.troupe.agents.diff({ params: { agentId: agent.id }, query });
    given.terminal.out(
      given.options.json ? json(changes) : table(changes.map(changed), ['path', 'from', 'to']),
    );
  },
  async rollback(given) {
    const agent = await find(given);
    const body = { version: numberAt(given, 1, '<version>') };
    show(given, await given.troupe.agents.rollback({ params: { agentId: agent.id }, body }));
  },
  async preview(given) {
    const agent = await find(given);
    const preview = await given.troupe.agents.preview({ params: { agentId: agent.id } });
    if (given.options.json) return given.terminal.out(json(preview));
    const tools = table(preview.tools, ['name', 'effect', 'description']);
    given.terminal.out(
      `${plain(preview.prompt) || '(no prompt)'}\n\n${tools}\n${table(preview.models, ['provider', 'model'])}`,
    );
  },
  async memories(given) {
    const agent = await find(given);
    const user = onceGiven('user', given.options.user);
    const query = { limit: limitOf(given.options), ...(user ? { user } : {}) };
    const { data, nextCursor } = await given.troupe.memories.list({ params: { agentId: agent.id }, query });
    given.terminal.out(given.options.json ? json(data) : table(data, ['key', 'value', 'updatedAt']));
    if (nextCursor) given.terminal.err(MORE);
  },
  async goals(given) {
    const agent = await find(given);
    const { status } = given.options;
    const user = onceGiven('user', given.options.user);
    const asked = status ? { status: oneOf('status', status, ['active', 'completed', 'abandoned']) } : {};
    const query = { limit: limitOf(given.options), ...asked, ...(user ? { user } : {}) };
    const { data, nextCursor } = await given.troupe.goals.list({ params: { agentId: agent.id }, query });
    given.terminal.out(
      given.options.json ? json(data) : table(data, ['id', 'priority', 'status', 'description']),
    );
    if (nextCursor) given.terminal.err(MORE);
  },
  async trigger(given) {
    const [, serviceName, text] = given.words;
    const payload = text === undefined ? {} : { payload: payloadIn(text) };
    const agent = await find(given);
    const body = { serviceName: serviceName!, ...payload };
    show(given, await given.troupe.services.trigger({ params: { agentId: agent.id }, body }));
  },
  async archive(given) {
    const agent = await find(given);
    await setStatus(given, agent.id, 'archived');
    given.terminal.out(given.options.json ? json({ id: agent.id }) : `${plain(agent.name)} is archived\n`);
  },
  async unarchive(given) {
    const agent = await find(given);
    await setStatus(given, agent.id, 'active');
    given.terminal.out(given.options.json ? json({ id: agent.id }) : `${plain(agent.name)} is active\n`);
  },
};

function payloadIn(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('what the service tells must be JSON', `Such as '{"invoice": 7}', in quotes.`);
  }
}

/** What is named in place of what it has. A capability that it has already keeps what is set for it. */
function carriedIn({ capabilities, tools, approvals }: Surroundings['options'], has?: Agent) {
  const carried = (id: string) => has?.capabilities.find((one) => one.id === id) ?? { id };
  return {
    ...(capabilities === undefined
      ? {}
      : { capabilities: listOf('capabilities', capabilities).map(carried) }),
    ...(tools === undefined ? {} : { tools: listOf('tools', tools) }),
    ...(approvals === undefined ? {} : { approvals: listOf('approvals', approvals) }),
  };
}

function setStatus({ troupe, options }: Surroundings, agentId: string, status: 'active' | 'archived') {
  const notes = options.notes === undefined ? {} : { notes: options.notes };
  return troupe.agents.update({ params: { agentId }, body: { status, ...notes } });
}

function find({ troupe, words }: Surroundings) {
  return findAgent(troupe, words[0]!);
}

function numberAt({ words }: Surroundings, at: number, what: string): number {
  const number = Number(words[at]);
  if (!Number.isInteger(number)) throw new UsageError(`${what} must be a number`);
  return number;
}
