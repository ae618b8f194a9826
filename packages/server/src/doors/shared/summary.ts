import type { TextContent } from '@troupe/protocol';
import type { StoredMessage } from '../../store/index.ts';

// A summary is a message of the thread with the role `system`. It covers messages that models no longer see; each summary
// includes the one before it, so a model sees only the newest.

/** Metadata of a summary: which messages it covers. `troupe.tail` reads it. */
export const SUMMARY_KEY = 'troupe:summary';

export interface Coverage {
  /** Every message up to this sequence number is covered … */
  upTo: number;
  /** … except these. */
  kept: number[];
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
  covers(message: StoredMessage): boolean;
  upTo: number;
} {
  const summary = transcript.findLast(isSummary) ?? null;
  if (!summary) return { summary, covers: () => false, upTo: 0 };
  const { upTo = 0, kept = [] } = summary.metadata![SUMMARY_KEY] as Partial<Coverage>;
  const exceptions = new Set(kept);
  return { summary, covers: ({ seq }) => seq <= upTo && !exceptions.has(seq), upTo };
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
