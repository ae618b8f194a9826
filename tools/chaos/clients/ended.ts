import { pause, type Requester } from './requester.ts';

const FINAL = new Set(['completed', 'failed', 'canceled']);
/** About eight minutes: the checker finds what is stuck for longer. */
const MAX_LOOKS = 500;

/** Waits until the runs have ended, as a client without a stream would: by asking. */
export async function runsEnded(requester: Requester, ids: string[]): Promise<void> {
  for (const runId of ids)
    await asked(async () => {
      const run = await requester.insist(() => requester.client.runs.get({ params: { runId } }));
      return !run || FINAL.has(run.status);
    });
}

/** Asks, less and less often, until the answer is true. */
export async function asked(isSo: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    if (await isSo()) return;
    await pause(Math.min(100 + looks * 50, 1_000));
  }
}
