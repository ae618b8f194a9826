import type { Event, Message } from '@troupe/protocol';
import { plain } from '../output.ts';

export const PAGE = 1_000;

/** All of a list that goes by sequence. */
export async function everything<Item extends { sequence: number }>(
  page: (after: number) => Promise<{ data: Item[] }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let after = 0; ; after = all.at(-1)!.sequence) {
    const { data } = await page(after);
    all.push(...data);
    if (data.length < PAGE) return all;
  }
}

export function messagesAsText(messages: Message[]): string {
  return messages.length === 0 ? 'none\n' : messages.map(lineOf).join('');
}

function lineOf({ sequence, role, content }: Message): string {
  const text = 'text' in content ? content.text : JSON.stringify(content);
  return `${sequence}  ${role}: ${plain(text)}\n`;
}

/** An event that is shown as it happens. */
export function eventLine(event: Event, asJson: boolean): string {
  if (asJson) return `${JSON.stringify(event)}\n`;
  return plain(`${event.sequence}  ${event.type}  ${JSON.stringify(event.data)}`).concat('\n');
}
