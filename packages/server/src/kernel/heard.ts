import { HEARD_KEY, type StoredMessage } from '../store/index.ts';

// A message that steers a run is stored while a model may be answering: its place in the log does not tell whether that answer took
// it into account. So the first message of a step notes the last steering message that its model had read.

function isSteer({ role, runId, step }: StoredMessage, run: string | null): boolean {
  return role === 'user' && step === null && runId !== null && runId === run;
}

/** The last message that steers the run, of those that a model reads with this transcript. Null: none does. */
export function lastSteer(transcript: readonly StoredMessage[], run: string): number | null {
  return transcript.findLast((message) => isSteer(message, run))?.seq ?? null;
}

/** Metadata for the first message of a step. */
export function heardNote(seq: number): { [HEARD_KEY]: number } {
  return { [HEARD_KEY]: seq };
}

/**
 * The messages of a run in the order in which its models read them: a message that steers comes before the first step that read it, or
 * last if no step did. A step without a note read everything before the last message that the run had written.
 */
export function inOrderHeard(messages: readonly StoredMessage[], run: string | null): StoredMessage[] {
  if (!messages.some((message) => isSteer(message, run))) return [...messages];
  const ordered: StoredMessage[] = [];
  let waiting: StoredMessage[] = [];
  let step: number | null = null;
  let written = 0;
  for (const message of messages) {
    if (isSteer(message, run)) {
      waiting.push(message);
      continue;
    }
    if (message.step !== null && message.step !== step) {
      step = message.step;
      const heard = Math.max(written, Number(message.metadata?.[HEARD_KEY] ?? 0));
      ordered.push(...waiting.filter(({ seq }) => seq <= heard));
      waiting = waiting.filter(({ seq }) => seq > heard);
    }
    if (message.step !== null) written = message.seq;
    ordered.push(message);
  }
  return [...ordered, ...waiting];
}
