import type { CopyFact, Evidence } from '../checker/evidence.ts';
import type { Options } from '../options.ts';
import type { Definitions } from './definitions.ts';
import type { Readers } from './reader.ts';
import type { Requester } from './requester.ts';
import { Slots, talk } from './sessions.ts';

export interface Load {
  /** Resolves when every client has brought to its end what it had begun. */
  ended: Promise<unknown>;
  compare(): Promise<CopyFact[]>;
  usage(): Promise<Evidence['usage']['reported']>;
}

/** Puts load on the chosen doors until the requester is stopped. */
export function startLoad(
  requester: Requester,
  definitions: Definitions,
  readers: Readers,
  { doors, concurrency }: Options,
): Load {
  const inFlight = new Slots(concurrency);
  const has = (door: Options['doors'][number]) => doors.includes(door);
  const lanes: Promise<void>[] = [];
  if (has('sessions'))
    for (let n = 0; n < Math.ceil(concurrency / 2); n++)
      lanes.push(talk(requester, definitions, readers, { user: `user-${n % 20}`, inFlight }));
  return {
    ended: Promise.all(lanes),
    compare: async () => [],
    usage: () => reportedUsage(requester),
  };
}

async function reportedUsage(requester: Requester): Promise<Evidence['usage']['reported']> {
  const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
  const report = await requester.insist(() => requester.client.usage.read({ query: { from } }));
  return report?.total ?? { inputTokens: -1, outputTokens: -1 };
}
