import { type Plan, planStatus } from '@troupe/protocol';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent, ID } from './find-agent.ts';
import { allOf, theOne } from './find-model.ts';
import { show } from './show.ts';

const COLUMNS = ['id', 'name', 'status', 'nextRunAt', 'cron', 'timeZone', 'lastRunAt'];

export const plans: Record<string, Command> = {
  async list(given) {
    const { troupe, terminal, options } = given;
    const { status } = options;
    const asked = status ? { status: oneOf('status', status, planStatus.options) } : {};
    const query = { limit: limitOf(options), ...asked };
    const { data, nextCursor } = await troupe.plans.list({ params: await agentOf(given), query });
    terminal.out(options.json ? json(data) : table(data, COLUMNS));
    if (nextCursor) terminal.err(MORE);
  },
  async create(given) {
    const { instruction, cron, 'run-after': runAfter, 'scheduled-at': scheduledAt } = given.options;
    const { 'time-zone': timeZone } = given.options;
    const body = {
      name: given.words[1]!,
      ...(instruction ? { instruction } : {}),
      ...(runAfter ? { runAfter } : {}),
      ...(scheduledAt ? { scheduledAt } : {}),
      ...(cron ? { cron } : {}),
      ...(timeZone ? { timeZone } : {}),
    };
    show(given, await given.troupe.plans.create({ params: await agentOf(given), body }));
  },
  async get(given) {
    show(given, await given.troupe.plans.get({ params: await planOf(given) }));
  },
  async cancel(given) {
    show(given, await given.troupe.plans.cancel({ params: await planOf(given) }));
  },
  async delete(given) {
    const params = await planOf(given);
    await given.troupe.plans.remove({ params });
    const id = params.planId;
    given.terminal.out(given.options.json ? json({ id }) : `${plain(given.words[1]!)} is deleted\n`);
  },
};

async function agentOf({ troupe, words }: Surroundings): Promise<{ agentId: string }> {
  return { agentId: (await findAgent(troupe, words[0]!)).id };
}

/** A plan by its id, or by its name, of which the agent has one. */
async function planOf(given: Surroundings): Promise<{ agentId: string; planId: string }> {
  const params = await agentOf(given);
  const named = given.words[1]!;
  if (ID.test(named)) return { ...params, planId: named };
  const all = await allOf<Plan>(given.troupe, ({ query }) =>
    given.troupe.plans.list({ params, query: { ...query, limit: 200 } }),
  );
  return { ...params, planId: theOne('plan', named, all, ({ name }) => [name]).id };
}
