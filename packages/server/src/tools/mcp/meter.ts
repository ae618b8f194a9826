/** Of what one answer may take, all that comes along with it counted. */
export const MOST_BYTES = 16 * 1024 * 1024;

/** Counts what somebody sends who was asked for one thing at a time. */
export class Meter {
  #left = MOST_BYTES;

  /** Something new was asked for. */
  refill(): void {
    this.#left = MOST_BYTES;
  }

  /** False: that is too much. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}
