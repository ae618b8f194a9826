import type { StoredMessage } from '../../store/index.ts';
import { firstSentence } from './first-sentence.ts';
import { textOf } from './summary.ts';
import { estimateTokens } from './tokens.ts';

// The summary without a model: the first sentence of every message of people and the agent. Used if no model can write a
// summary.

const MAX_LINE = 200;
const LEFT_OUT = '(older lines are left out)';

/** The earlier summary, then one line for each message that leaves; if it grows too long, the oldest lines are left out. */
export function digest(earlier: string | null, leaving: readonly StoredMessage[], maxTokens: number): string {
  const said = leaving.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'system');
  const lines = said.flatMap((message) => {
    const sentence = firstSentence(textOf(message), MAX_LINE);
    return sentence === null ? [] : [`- ${message.role}: ${sentence}`];
  });
  const all = [...(earlier ?? '').split('\n').filter((line) => line !== '' && line !== LEFT_OUT), ...lines];
  let left = maxTokens;
  let from = all.length;
  while (from > 0) {
    left -= estimateTokens(all[from - 1]!) + 1;
    if (left < 0) break;
    from -= 1;
  }
  return [...(from > 0 ? [LEFT_OUT] : []), ...all.slice(from)].join('\n');
}
