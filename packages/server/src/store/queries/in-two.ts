/** One half of a batch is written, the other failed: only that one may be sent again. */
export class HalfFailed<Verdict> extends Error {
  /** By item; undefined for those of the half that failed. */
  readonly verdicts: (Verdict | undefined)[];

  constructor(verdicts: (Verdict | undefined)[], cause: unknown) {
    super('half of a batch failed', { cause });
    this.verdicts = verdicts;
  }
}

/** A batch that goes as two statements, each a transaction of its own. Verdicts come back in the order of the items. */
export async function inTwo<Item, Verdict>(
  items: Item[],
  halves: [Item[], Item[]],
  sent: [Promise<Verdict[]>, Promise<Verdict[]>],
): Promise<Verdict[]> {
  const settled = await Promise.allSettled(sent);
  const verdicts = items.map((item) => {
    const half = halves[0].includes(item) ? 0 : 1;
    const answer = settled[half];
    return answer.status === 'fulfilled' ? answer.value[halves[half].indexOf(item)] : undefined;
  });
  const failed = settled.filter((half) => half.status === 'rejected');
  if (failed.length === 0) return verdicts as Verdict[];
  throw failed.length === 2 ? failed[0]!.reason : new HalfFailed(verdicts, failed[0]!.reason);
}
