import { deliveryStatus, type JsonObject, type TriggerTest } from '@troupe/protocol';
import { CommandError } from '../failure.ts';
import { json, MORE, plain, record, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import type { Command, Surroundings } from './command.ts';
import { ID } from './find-agent.ts';
import { documentAt } from './given-files.ts';
import { show } from './show.ts';

const COLUMNS = ['name', 'version', 'enabled', 'collection', 'events', 'condition', 'open', 'disabledReason'];
const DELIVERIES = ['id', 'trigger', 'event', 'document', 'status', 'attempts', 'nextAttemptAt', 'error'];

export const triggers: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.triggers.list({ query: { limit: limitOf(options) } });
    terminal.out(options.json ? json(data) : table(data, COLUMNS));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await given.troupe.triggers.get(named(given)));
  },
  async apply({ troupe, terminal, options, words }) {
    const body = { triggers: await rulesIn(words[0]!), prune: options.prune ?? false };
    const { data } = await troupe.triggers.apply({ body });
    terminal.out(options.json ? json(data) : table(data, ['name', 'outcome', 'version']));
    for (const { name, findings } of data)
      for (const { path, message } of findings) terminal.err(plain(`${name}: ${path} ${message}\n`));
  },
  async disable(given) {
    show(given, await given.troupe.triggers.update({ ...named(given), body: { enabled: false } }));
  },
  async enable(given) {
    show(given, await given.troupe.triggers.enable(named(given)));
  },
  async delete(given) {
    const { id, name } = await given.troupe.triggers.get(named(given));
    await given.troupe.triggers.remove({ params: { trigger: id } });
    given.terminal.out(given.options.json ? json({ id }) : `${plain(name)} is deleted\n`);
  },
  /** A saved one by its name; those of a file, which no name can look like. */
  async test(given) {
    const { troupe, words, options } = given;
    const limit = options.limit ? { limit: Math.min(limitOf(options), 100) } : {};
    if (!/[./\\]/.test(words[0]!))
      return told(given, [
        { name: words[0]!, ...(await troupe.triggers.test({ ...named(given), body: limit })) },
      ]);
    const tests: (TriggerTest & { name: string })[] = [];
    for (const trigger of await rulesIn(words[0]!)) {
      const name = String(trigger.name ?? trigger.triggerId ?? '');
      tests.push({ name, ...(await troupe.triggers.testUnsaved({ body: { trigger, ...limit } })) });
    }
    return told(given, tests);
  },
  async deliveries({ troupe, terminal, options, words }) {
    const query = {
      limit: limitOf(options),
      ...(words[0] ? { trigger: words[0] } : {}),
      ...(options.status ? { status: oneOf('status', options.status, deliveryStatus.options) } : {}),
      ...(options.document ? { document: options.document } : {}),
    };
    const { data, nextCursor } = await troupe.triggers.deliveries({ query });
    const shown = data.map(({ error, path, ...delivery }) => ({
      ...delivery,
      document: shortPath(path),
      error: error?.message,
    }));
    terminal.out(options.json ? json(data) : table(shown, DELIVERIES));
    if (nextCursor) terminal.err(MORE);
  },
  /** The delivery, and a paragraph for each attempt: what was asked, and what came back. */
  async delivery(given) {
    const { troupe, terminal, options, words } = given;
    const delivery = await troupe.triggers.delivery({ params: { deliveryId: words[0]! } });
    if (options.json) return terminal.out(json(delivery));
    const { log, ...rest } = delivery;
    terminal.out(record(rest));
    for (const { attempt, startedAt, durationMs, request, response, error } of log) {
      const took = durationMs === null ? 'no end yet' : `${durationMs} ms`;
      const where = request?.url === undefined ? '' : `: ${request.method} ${request.url}`;
      terminal.out(plain(`\nattempt ${attempt}, ${startedAt}, ${took}${where}\n`));
      if (response?.status !== undefined)
        terminal.out(plain(`  ${response.status} ${response.body ?? ''}\n`));
      if (error) terminal.out(plain(`  ${error.code}: ${error.message}\n`));
    }
  },
  /** One by its id; of a trigger, all that were given up. */
  async redeliver(given) {
    const { troupe, terminal, options, words } = given;
    if (ID.test(words[0]!))
      return show(given, await troupe.triggers.redeliver({ params: { deliveryId: words[0]! } }));
    const status = options.status ? { status: oneOf('status', options.status, ['dead', 'delivered']) } : {};
    const { redelivered } = await troupe.triggers.redeliverMany({ body: { trigger: words[0]!, ...status } });
    terminal.out(options.json ? json({ redelivered }) : `${redelivered} will be delivered again\n`);
  },
};

/** `tasks/<id>`: a line has no room for whose it is, which `delivery` and `--json` tell. */
function shortPath(path: string): string {
  return path.split('/').slice(-2).join('/');
}

function named({ words }: Surroundings) {
  return { params: { trigger: words[0]! } };
}

/** 1 where a rule is wrong. */
function told({ terminal, options }: Surroundings, tests: (TriggerTest & { name: string })[]): number {
  const isWrong = tests.some(({ findings }) => findings.length > 0);
  if (options.json) terminal.out(json(tests));
  else {
    for (const { name, findings, results } of tests) {
      terminal.out(`${plain(name)}\n`);
      if (findings.length > 0) terminal.out(table(findings, ['path', 'message'], { longest: 500 }));
      const shown = results.map(({ path, ...result }) => ({ ...result, document: shortPath(path) }));
      if (findings.length === 0 || shown.length > 0)
        terminal.out(table(shown, ['matches', 'document', 'reason'], { longest: 200 }));
    }
  }
  return isWrong ? 1 : 0;
}

/** A list of rules, one alone, or an object that has them as `triggers`. */
async function rulesIn(path: string): Promise<JsonObject[]> {
  const found = await documentAt(path);
  const list = Array.isArray(found) ? found : ((found as { triggers?: unknown } | null)?.triggers ?? [found]);
  const isRule = (rule: unknown) => rule !== null && typeof rule === 'object' && !Array.isArray(rule);
  if (!Array.isArray(list) || !list.every(isRule))
    throw new CommandError('file_unreadable', `${path} holds no list of triggers.`);
  return list as JsonObject[];
}
