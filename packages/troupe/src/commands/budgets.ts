import { budgetScope, budgetUnit, onExhausted } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { json, table } from '../output.ts';
import { choiceOf, numberOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command } from './command.ts';
import { findAgent } from './find-agent.ts';
import { findSpace } from './find-space.ts';
import { show } from './show.ts';

const COLUMNS = ['scope', 'name', 'unit', 'amount', 'spent', 'reserved', 'onExhausted', 'waiting', 'scopeId'];

export const budgets: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data } = await troupe.usage.budgets();
    terminal.out(options.json ? json(data) : table(data, COLUMNS));
  },
  async set(given) {
    const { troupe, words, options } = given;
    const tokens = numberOf('tokens', options.tokens);
    const cost = numberOf('cost', options.cost);
    if ((tokens === undefined) === (cost === undefined))
      throw new UsageError('--tokens or --cost says how much, one of them');
    const policy = oneOf('on-exhausted', options['on-exhausted'] ?? 'stop', onExhausted.options);
    const params = {
      ...(await scopeOf(troupe, words)),
      unit: cost === undefined ? 'tokens' : 'cost',
    } as const;
    const amount = (tokens ?? cost)!;
    show(given, await troupe.usage.setBudget({ params, body: { amount, onExhausted: policy } }));
  },
  async delete({ troupe, terminal, words, options }) {
    if (!options.unit) throw new UsageError('--unit says which: tokens or cost');
    const unit = oneOf('unit', options.unit, budgetUnit.options);
    const params = { ...(await scopeOf(troupe, words)), unit };
    await troupe.usage.deleteBudget({ params });
    terminal.out(options.json ? json(params) : `The budget of ${unit} is deleted\n`);
  },
};

/** What a budget is for: the project itself, or an agent or a space by name or id, or a session by its id. */
async function scopeOf(troupe: Troupe, [kind, which]: string[]) {
  const scope = choiceOf('the scope', kind!, budgetScope.options);
  if (scope === 'project') {
    if (which !== undefined) throw new UsageError('a budget of the project takes no name');
    return { scope, scopeId: (await troupe.system.get()).project.id };
  }
  if (which === undefined) throw new UsageError(`which ${scope} is missing`);
  if (scope === 'agent') return { scope, scopeId: (await findAgent(troupe, which)).id };
  if (scope === 'space') return { scope, scopeId: (await findSpace(troupe, which)).id };
  return { scope, scopeId: which };
}
