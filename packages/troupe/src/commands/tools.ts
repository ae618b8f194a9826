import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { newTool, type Tool } from '@troupe/protocol';
import { type Troupe, TroupeClientError } from '@troupe/sdk';
import { json, MORE, plain, record, table } from '../output.ts';
import { limitOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { ID } from './find-agent.ts';
import { documentAt } from './given-files.ts';

type NewTool = NonNullable<Parameters<Troupe['tools']['create']>[0]>['body'];
type ToolPatch = NonNullable<NonNullable<Parameters<Troupe['tools']['update']>[0]>['body']>;

type Declared = Pick<Tool, 'name' | 'description' | 'inputSchema' | 'effect' | 'timeoutMs'>;

export const tools: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.tools.list({ query: { limit: limitOf(options) } });
    terminal.out(options.json ? json(data) : table(data, ['id', 'name', 'kind', 'version', 'description']));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await find(given));
  },
  async create(given) {
    const { path, definition } = await readDefinition(given.words[0]!);
    show(given, await told(path, given.troupe.tools.create({ body: definition })));
  },
  async apply(given) {
    const applied: (Tool & { done: string })[] = [];
    for (const file of await filesIn(given.words[0]!)) {
      const { path, definition } = await readDefinition(file);
      applied.push(await told(path, apply(given.troupe, definition)));
    }
    showAll(given, applied);
  },
  async register(given) {
    // The server, which takes a while to load, knows what a module may be.
    const { loadCodeTools } = await import('@troupe/server/parts');
    const registered: (Tool & { done: string })[] = [];
    const functions = await loadCodeTools([given.words[0]!]).catch((error) => {
      throw new TroupeClientError(error.message);
    });
    for (const { name, description, inputSchema, effect, timeoutMs } of functions.values())
      registered.push(await register(given.troupe, { name, description, inputSchema, effect, timeoutMs }));
    showAll(given, registered);
  },
  async try(given) {
    const body = { arguments: argumentsIn(given.words[1]) };
    const tool = await find(given);
    const trial = await given.troupe.tools.try({ params: { toolId: tool.id }, body });
    show(given, trial);
    return trial.ok ? 0 : 1;
  },
  async test(given) {
    const body = given.words[1] === undefined ? {} : { arguments: argumentsIn(given.words[1]) };
    const tool = await find(given);
    const found = await given.troupe.tools.test({ params: { toolId: tool.id }, body });
    show(given, found);
    return found.ok ? 0 : 1;
  },
  async delete(given) {
    const tool = await find(given);
    await given.troupe.tools.remove({ params: { toolId: tool.id } });
    given.terminal.out(given.options.json ? json({ id: tool.id }) : `${plain(tool.name)} is deleted\n`);
  },
};

/** Makes the tool, or makes the one of that name what the file says. */
async function apply(troupe: Troupe, definition: NewTool): Promise<Tool & { done: string }> {
  const { name = (definition as { key?: unknown }).key } = definition as { name?: unknown };
  const known = await toolNamed(troupe, String(name));
  if (!known) return { ...(await troupe.tools.create({ body: definition })), done: 'created' };
  // Read by the contract first, so that every way of writing it, and what it leaves out, is the same as for a new one.
  const read = newTool.safeParse(definition);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new TroupeClientError(`"${issue!.path.join('.')}" ${issue!.message}`);
  }
  const { name: _, kind, request, output, mcp, function: named, ...rest } = read.data;
  if (kind !== known.kind)
    throw new TroupeClientError(
      `"${known.name}" is a tool of the kind ${known.kind}, and stays one. Delete it first.`,
    );
  const body = {
    ...rest,
    ...(request ? { request } : {}),
    ...(mcp ? { mcp } : {}),
    ...(named ? { function: named } : {}),
    ...(kind === 'static' ? { output } : {}),
  };
  const tool = await troupe.tools.update({ params: { toolId: known.id }, body: body as ToolPatch });
  return { ...tool, done: tool.version === known.version ? 'unchanged' : 'changed' };
}

/** What a function has; what only its row has, such as `approval`, stays. */
async function register(troupe: Troupe, declared: Declared): Promise<Tool & { done: string }> {
  const known = await toolNamed(troupe, declared.name);
  if (!known) {
    const body = { ...declared, kind: 'code' } as NewTool;
    return { ...(await troupe.tools.create({ body })), done: 'created' };
  }
  if (known.kind !== 'code')
    throw new TroupeClientError(
      `"${known.name}" is a tool of the kind ${known.kind}, and stays one. Delete it first.`,
    );
  const { name, ...rest } = declared;
  const body = { ...rest, function: name } as ToolPatch;
  const tool = await troupe.tools.update({ params: { toolId: known.id }, body });
  return { ...tool, done: tool.version === known.version ? 'unchanged' : 'changed' };
}

async function toolNamed(troupe: Troupe, name: string): Promise<Tool | undefined> {
  return (await troupe.tools.list({ query: { name } })).data[0];
}

async function find({ troupe, words }: Surroundings): Promise<Tool> {
  const nameOrId = words[0]!;
  if (ID.test(nameOrId)) return troupe.tools.get({ params: { toolId: nameOrId } });
  const found = await toolNamed(troupe, nameOrId);
  if (!found) throw new TroupeClientError(`There is no tool "${nameOrId}". \`troupe tools list\` shows all.`);
  return found;
}

async function filesIn(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null);
  if (!found?.isDirectory()) return [path];
  const files = (await readdir(path)).filter((name) => /\.(json|ya?ml)$/.test(name)).sort();
  if (files.length === 0) throw new TroupeClientError(`${path} has no .json, .yaml or .yml files.`);
  return files.map((name) => join(path, name));
}

async function readDefinition(path: string): Promise<{ path: string; definition: NewTool }> {
  const definition = await documentAt(path);
  if (definition === null || typeof definition !== 'object' || Array.isArray(definition))
    throw new TroupeClientError(`${path} describes no tool: it is no object in JSON or YAML.`);
  return { path, definition: definition as NewTool };
}

function argumentsIn(text = '{}'): Record<string, never> {
  const value = jsonIn(text);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new UsageError('<json> must be a JSON object', 'Such as \'{"city": "Oslo"}\'.');
  return value as Record<string, never>;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Of several files, the one that is wrong is named. */
async function told<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TroupeClientError) error.message = `${path}: ${error.message}`;
    throw error;
  }
}

function showAll({ terminal, options }: Surroundings, tools: (Tool & { done: string })[]): void {
  terminal.out(options.json ? json(tools) : table(tools, ['name', 'kind', 'version', 'done']));
}

function show({ terminal, options }: Surroundings, thing: object): void {
  terminal.out(options.json ? json(thing) : record(thing as Record<string, unknown>));
}
