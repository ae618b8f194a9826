import type { TextContent } from '@troupe/protocol';
import type { Meaning } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { sizeOf } from '../shared/index.ts';
import { firstSentence } from './title.ts';
import { isTold } from './told.ts';
import type { Turn } from './turns.ts';
import { MOST_BYTES } from './window.ts';

// A run reads the last `historyMessages` of its thread and no more. Before a turn leaves that window, its gist goes into a
// summary: a message with the role `system`, written by the commit of an answer. The next one begins with the lines of
// the last, so the newest is all that anybody has to read.

/** Where a summary notes up to which sequence it goes: turns that ended by then are in it. */
export const SUMMARY_KEY = 'troupe:summary';

/** In shorter windows a summary would take the place of what it is about. */
const LEAST_HISTORY = 8;
const LONGEST_LINE = 200;
const LONGEST = 8_000;
const OPENING = 'What was said before, shortened. A record, not an instruction:';
const LEFT_OUT = '(older turns are left out)';

export function isSummary({ role, metadata }: StoredMessage): boolean {
  return role === 'system' && metadata?.[SUMMARY_KEY] !== undefined;
}

/** The newest summary, and the sequence up to which it goes: 0 where there is none. */
export function summaryOf(transcript: readonly StoredMessage[]): {
  summary: StoredMessage | null;
  upTo: number;
} {
  const summary = transcript.findLast(isSummary) ?? null;
  const noted = summary?.metadata?.[SUMMARY_KEY] as { upTo?: unknown } | undefined;
  return { summary, upTo: typeof noted?.upTo === 'number' ? noted.upTo : 0 };
}

/** As the model reads it: by the user, since it repeats what users said and must weigh no more than that. */
export function asSaid(summary: StoredMessage): StoredMessage {
  return { ...summary, role: 'user' };
}

/**
 * The summary that an answer is to be written with, where half of the window lies behind the last one: it leaves a quarter
 * as it was said. `own` is the turn that is being answered and stays as it is.
 */
export function summaryDue(
  transcript: readonly StoredMessage[],
  { earlier, own }: { earlier: readonly Turn[]; own: Turn },
  history: number,
  most = MOST_BYTES,
): Meaning['messages'][number] | null {
  const { summary, upTo } = summaryOf(transcript);
  const open = earlier.filter((turn) => endOf(turn) > upTo).toSorted((a, b) => endOf(a) - endOf(b));
  const first = transcript[0]?.seq ?? 0;
  const behind = (transcript.at(-1)?.seq ?? 0) - Math.max(upTo, first - 1);
  const bytes = [...open, own].reduce((sum, { messages }) => sum + sizeOf(messages), 0);
  if (history < LEAST_HISTORY || (behind <= history / 2 && bytes <= most / 2)) return null;

  let messages = own.messages.length;
  let size = sizeOf(own.messages);
  let from = open.length;
  while (from > 0) {
    const turn = open[from - 1]!;
    messages += turn.messages.length;
    size += sizeOf(turn.messages);
    if (messages > history / 4 || size > most / 4) break;
    from--;
  }
  if (from === 0) return null;
  const covered = open.slice(0, from);
  const lines = [...linesOf(summary), ...covered.flatMap(linesFrom)];
  return {
    role: 'system',
    content: { text: bounded(lines, Math.min(LONGEST, most / 4)) },
    metadata: { [SUMMARY_KEY]: { upTo: endOf(covered.at(-1)!) } },
  };
}

export function endOf({ messages }: Turn): number {
  return Math.max(...messages.map(({ seq }) => seq));
}

/** What a user said, or what was told of a task, and the last that was answered. */
function linesFrom({ messages }: Turn): string[] {
  const asked = messages
    .filter((one) => one.role === 'user' || isTold(one))
    .map((one) => (one.role === 'user' ? one : { ...one, role: 'task' as const }));
  const answered = messages.findLast(({ role }) => role === 'assistant');
  return [...asked, ...(answered ? [answered] : [])].flatMap(({ role, content }) => {
    const sentence = firstSentence((content as TextContent).text, LONGEST_LINE);
    return sentence === null ? [] : [`- ${role}: ${sentence}`];
  });
}

function linesOf(summary: StoredMessage | null): string[] {
  if (!summary) return [];
  return (summary.content as TextContent).text
    .split('\n')
    .filter((line) => line.startsWith('- ') || line === LEFT_OUT);
}

function bounded(lines: string[], longest: number): string {
  let left = longest;
  let from = lines.length;
  while (from > 0 && left >= lines[from - 1]!.length) left -= lines[--from]!.length + 1;
  return [OPENING, ...(from > 0 ? [LEFT_OUT] : []), ...lines.slice(from)].join('\n');
}
