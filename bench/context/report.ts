import type { Plan } from './facts.ts';
import type { Played } from './play.ts';

const BUCKETS = 5;

/** Recall by the age of the fact, oldest first. */
export function report({ turns, facts }: Plan, { recalled, compactions }: Played): string {
  const size = Math.ceil(facts.length / BUCKETS);
  const rows = Array.from({ length: BUCKETS }, (_, bucket) => {
    const from = bucket * size;
    const part = recalled.slice(from, from + size);
    const first = facts[from]?.turn ?? 0;
    const last = facts[Math.min(from + size, facts.length) - 1]?.turn ?? 0;
    return part.length === 0 ? [] : [`| ${first + 1}–${last + 1} | ${part.length} | ${share(part)} |`];
  }).flat();
  return [
    `${turns.length} turns, ${facts.length} facts, ${compactions} compactions, recall ${share(recalled)}`,
    '',
    '| Planted in turn | Facts | Recall |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

function share(recalled: boolean[]): string {
  return `${Math.round((recalled.filter(Boolean).length / recalled.length) * 100)} %`;
}
