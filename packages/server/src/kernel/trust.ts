// Who is alive, as a worker can tell: itself (Trust) and the others (Watch). All times are of its own monotonic clock and
// are passed in, so that the simulation runs the same code.

/** Lock free and heart still for so long: gone. */
const GONE_MS = 700;
/** Lock held but heart still for so long: hung. */
const HUNG_MS = 3_000;
/**
 * Where the last acknowledged beat is older than this, a worker no longer trusts itself to be alive in the eyes of others.
 * Less than GONE_MS, because the lock may be gone without its knowledge: then nobody is reaped while it trusts itself.
 */
const TRUST_MS = 600;
/** After Postgres, the connection or the own process was away, everybody gets so long to show up. */
export const AMNESTY_MS = 2_000;

/** Whether others still believe this worker alive, and its runs are its own. */
export class Trust {
  /** When the last acknowledged beat was sent; before the first, when the worker began. */
  #ackAt: number;
  #acked = false;
  /** How often the heart stopped for too long, how many of these stops were looked into, and which one is being. */
  #stops = 0;
  #verified = 0;
  #verifying = 0;

  constructor(startedAt: number) {
    this.#ackAt = startedAt;
  }

  fresh(now: number): boolean {
    return this.#acked && now - this.#ackAt < TRUST_MS && !this.doubtful;
  }

  /** The heart beats again, but whose the runs are by now is not known. */
  get doubtful(): boolean {
    return this.#verified < this.#stops;
  }

  /** For how long the heart had stood still when this beat was sent. */
  stoodStill(sentAt: number): number {
    return sentAt - this.#ackAt;
  }

  /** A beat sent at that time was acknowledged. Answers with the stop that is to be looked into now, if there is one. */
  acknowledged(sentAt: number): number | null {
    if (this.stoodStill(sentAt) > TRUST_MS) this.#stops += 1;
    this.#ackAt = sentAt;
    this.#acked = true;
    if (!this.doubtful || this.#verifying === this.#stops) return null;
    this.#verifying = this.#stops;
    return this.#stops;
  }

  /** The stop was looked into; where that failed, the next acknowledged beat tries again. */
  verified(stop: number, ok: boolean): void {
    if (ok) this.#verified = Math.max(this.#verified, stop);
    else if (this.#verifying === stop) this.#verifying = 0;
  }
}

interface Observed {
  beat: number | null;
  /** When the counter was last seen to change. */
  since: number;
}

export interface Silent {
  incarnation: string;
  beat: number | null;
  forMs: number;
}

/** The hearts of the others. */
export class Watch {
  readonly #seen = new Map<string, Observed>();
  #judgeFrom = 0;

  /** Nobody is judged before. */
  judgeFrom(time: number): void {
    this.#judgeFrom = time;
  }

  /** Own connection was away: whatever was seen of others before says nothing. */
  amnesty(now: number): void {
    this.#judgeFrom = now + AMNESTY_MS;
    this.#seen.clear();
  }

  /** A worker's counter; null where it has none. */
  look(incarnation: string, beat: number | null, now: number): void {
    const known = this.#seen.get(incarnation);
    if (!known || known.beat !== beat) this.#seen.set(incarnation, { beat, since: now });
  }

  forget(incarnation: string): void {
    this.#seen.delete(incarnation);
  }

  keep(present: ReadonlySet<string>): void {
    for (const incarnation of this.#seen.keys())
      if (!present.has(incarnation)) this.#seen.delete(incarnation);
  }

  /** When the next worker will have been silent for long enough to be judged, if its counter does not change; null: none is watched. */
  nextDue(now: number): number | null {
    const due = [...this.#seen.values()]
      .flatMap(({ since }) => [since + GONE_MS, since + HUNG_MS])
      .map((time) => Math.max(time, this.#judgeFrom))
      .filter((time) => time > now);
    return due.length === 0 ? null : Math.min(...due);
  }

  silent(now: number): Silent[] {
    if (now < this.#judgeFrom) return [];
    return [...this.#seen]
      .filter(([, { since }]) => now - since >= GONE_MS)
      .map(([incarnation, { beat, since }]) => ({ incarnation, beat, forMs: now - since }));
  }
}

/** Whether a silent worker is to be reaped, by whether it holds its lock. */
export function isDead({ forMs }: Silent, hung: boolean): boolean {
  return !hung || forMs >= HUNG_MS;
}
