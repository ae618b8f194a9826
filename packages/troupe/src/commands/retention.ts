import type { AgentRetention, Retention } from '@troupe/protocol';
import { json, table } from '../output.ts';
import { UsageError } from '../terminal.ts';
import type { Command } from './command.ts';
import { findAgent } from './find-agent.ts';

const KINDS = ['sessions', 'runs', 'results', 'events', 'files', 'deliveries', 'audit'] as const;
type Kind = (typeof KINDS)[number];

export const retention: Record<string, Command> = {
  async get({ troupe, terminal, options }) {
    const { project, agents } = await troupe.retention.get();
    if (options.json) return terminal.out(json({ project, agents }));
    const rows = [{ agentId: null, rules: project as Retention }, ...agents].flatMap(({ agentId, rules }) =>
      daysOf(rules).map(([kind, days]) => ({ of: agentId ?? 'project', kind, days })),
    );
    terminal.out(table(rows, ['of', 'kind', 'days']));
  },
  async set({ troupe, terminal, words, options }) {
    const body = rulesOf(words);
    const [name] = options.agent ?? [];
    const set = name
      ? await troupe.retention.setForAgent({
          params: { agentId: (await findAgent(troupe, name)).id },
          body: body as AgentRetention,
        })
      : await troupe.retention.set({ body });
    terminal.out(
      options.json
        ? json(set)
        : table(
            daysOf(set).map(([kind, days]) => ({ kind, days })),
            ['kind', 'days'],
          ),
    );
  },
  async preview({ troupe, terminal, options }) {
    const { data } = await troupe.retention.preview();
    terminal.out(options.json ? json(data) : table(data, ['kind', 'count', 'bytes', 'oldest', 'truncated']));
  },
};

function daysOf({ runs, ...rules }: Retention): [Kind, number][] {
  const results = runs?.keepResultAfterDays;
  const whole = runs?.deleteAfterDays;
  return [
    ...Object.entries(rules).map(([kind, rule]): [Kind, number] => [kind as Kind, rule!.deleteAfterDays]),
    ...(whole === undefined ? [] : [['runs', whole] as [Kind, number]]),
    ...(results === undefined ? [] : [['results', results] as [Kind, number]]),
  ];
}

/** `sessions=30 results=7`; `none` alone removes all rules. */
function rulesOf(words: string[]): Retention {
  if (words.length === 1 && words[0] === 'none') return {};
  const rules: Retention = {};
  for (const word of words) {
    const [kind, days] = word.split('=') as [Kind, string | undefined];
    if (!KINDS.includes(kind) || !days || !/^\d{1,5}$/.test(days))
      throw new UsageError(`"${word}" is no rule: write <kind>=<days>; kinds are ${KINDS.join(', ')}`);
    if (kind === 'results') rules.runs = { ...rules.runs, keepResultAfterDays: Number(days) };
    else if (kind === 'runs') rules.runs = { ...rules.runs, deleteAfterDays: Number(days) };
    else rules[kind] = { deleteAfterDays: Number(days) };
  }
  return rules;
}
