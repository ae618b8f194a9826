import type { CommitItem, Committed, Resync, StoredMessage } from '../store/index.ts';
import type { Commit } from './state.ts';

// What a worker knows of a run that it holds, and what the answer to a commit tells it. Without clock and database, as
// decide.ts, so that the loop and the simulation share it.

export interface Held {
  run: string;
  worker: string;
  epoch: number;
  thread: string;
  /** Counted up by every commit. */
  version: number;
  /** The seq of the last message in the transcript. */
  known: number;
  /** How many messages that were put to the running run are in the transcript. */
  steers: number;
  transcript: StoredMessage[];
}

type Done = Committed & { ok: true };
type Refused = Committed & { ok: false };

/** A commit with the fence around it, as it is sent; sent again it is the same, ids included. */
export function toItem(held: Held, commit: Commit, newId: () => string): CommitItem {
  const { name: _, messages, ...rest } = commit;
  return {
    ...rest,
    run: held.run,
    worker: held.worker,
    epoch: held.epoch,
    version: held.version,
    thread: held.thread,
    known: held.known,
    steers: held.steers,
    messages: messages?.map((message) => ({ ...message, id: newId() })) ?? [],
  };
}

/** Takes over what a commit changed: the transcript grows by what others appended and by what it appended itself. */
export function remember(held: Held, item: CommitItem, verdict: Done): void {
  held.version = verdict.version;
  if (verdict.steers !== undefined) held.steers = verdict.steers;
  if (verdict.foreign) held.transcript.push(...verdict.foreign);
  let seq = verdict.seq;
  for (const message of item.messages!) {
    seq += 1;
    held.transcript.push({
      id: message.id,
      seq,
      role: message.role,
      content: message.content,
      callId: message.callId ?? null,
      sender: message.sender ?? null,
      runId: held.run,
      step: message.step ?? null,
      metadata: message.metadata ?? null,
    });
  }
  held.known = seq;
}

/**
 * A refusal may mean that this very commit was written and only its answer was lost: same epoch, one version on.
 * Then it counts as done, in the mode that this answers with; null where it was really refused.
 */
export function doneBefore(item: CommitItem, refusal: Refused): Done['mode'] | null {
  if (refusal.epoch !== item.epoch || refusal.version !== item.version + 1) return null;
  const { status } = refusal;
  if (status === 'running') return 'go';
  if (status === 'waiting_tool' || status === 'waiting_reply') return 'parked';
  if (status === 'queued') return item.target === 'queued' ? 'released' : null;
  return status === item.target ? 'ended' : null;
}

/** The verdict that was lost, made from where the run stands now. */
export function lostVerdict(item: CommitItem, refusal: Refused, mode: Done['mode'], now: Resync): Done {
  const own = new Set(item.messages!.map((message) => message.id));
  const ownSeqs = now.messages.filter((message) => own.has(message.id)).map((message) => message.seq);
  const last = now.messages.at(-1)?.seq ?? item.known;
  const first = ownSeqs.length > 0 ? Math.min(...ownSeqs) - 1 : last;
  return {
    ok: true,
    mode,
    seq: first,
    version: refusal.version!,
    // Who spoke after this commit is told by the next one, and must not count as heard before.
    steers: last > first + own.size ? item.steers : now.steers,
    openCalls: now.openCalls,
    foreign: now.messages.filter((message) => message.seq <= first),
    ...(mode === 'go' && item.park ? { ready: now.ready } : {}),
  };
}
