import type { TextContent } from '@troupe/protocol';
import type { StoredMessage } from '../../store/index.ts';

// A summary is a message of the thread with the role `system`. It covers messages that models no longer see; each summary
// includes the one before it, so a model sees only the newest.

/** Metadata of a summary: which messages it covers. `troupe.tail` reads it. */
export const SUMMARY_KEY = 'troupe:summary';

export interface Coverage {
  /** Every message up to this sequence number is covered … */
  upTo: number;
  /** … except these … */
  kept: number[];
  /** … and these ranges, which are not loaded: messages of runs that wait for their turn. Absent: none. */
  later?: [number, number][];
}

export function isSummary({ role, metadata }: Pick<StoredMessage, 'role' | 'metadata'>): boolean {
  return role === 'system' && metadata?.[SUMMARY_KEY] !== undefined;
}

/** A summary of messages that a fork changed. */
function isVoid({ role, metadata }: StoredMessage): boolean {
  return role === 'system' && metadata?.['troupe:void'] === true;
}

/** The newest summary and the messages that it covers. */
export function newestSummary(transcript: readonly StoredMessage[]): {
  summary: StoredMessage | null;
  covers(message: Pick<StoredMessage, 'seq'>): boolean;
  upTo: number;
} {
  const summary = transcript.findLast(isSummary) ?? null;
  if (!summary) return { summary, covers: () => false, upTo: 0 };
  const { upTo = 0, kept = [], later = [] } = summary.metadata![SUMMARY_KEY] as Partial<Coverage>;
  const exceptions = new Set(kept);
  const isLater = (seq: number) => later.some(([first, last]) => first <= seq && seq <= last);
  return { summary, covers: ({ seq }) => seq <= upTo && !exceptions.has(seq) && !isLater(seq), upTo };
}

/**
 * Ranges of sequence numbers after the trigger, up to `last`, that neither the transcript nor the newest summary has: messages of runs
 * that wait for their turn.
 */
export function unloaded(
  transcript: readonly StoredMessage[],
  { triggerSeq }: { triggerSeq: number | null },
  last: number,
): [number, number][] {
  const { covers } = newestSummary(transcript);
  const loaded = new Set(transcript.map(({ seq }) => seq));
  const ranges: [number, number][] = [];
  for (let seq = (triggerSeq ?? last) + 1; seq <= last; seq++) {
    if (loaded.has(seq) || covers({ seq })) continue;
    const range = ranges.at(-1);
    if (range?.[1] === seq - 1) range[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

/** The messages that a run may still show: no summaries, nothing that one covers, but always the trigger of the run. */
export function uncovered(
  transcript: readonly StoredMessage[],
  { triggerSeq }: { triggerSeq: number | null },
): StoredMessage[] {
  const { covers } = newestSummary(transcript);
  return transcript.filter(
    (one) => !isSummary(one) && !isVoid(one) && (one.seq === triggerSeq || !covers(one)),
  );
}

/** Summaries are shown with the role `user`: they repeat what users said and must not outrank it. */
export function asSaid(summary: StoredMessage): StoredMessage {
  return { ...summary, role: 'user' };
}

export function textOf({ content }: StoredMessage): string {
  return (content as TextContent).text ?? '';
}
