import type { CopyFact, Evidence } from '../checker/evidence.ts';
import type { Options } from '../options.ts';
import { Copy } from './copy.ts';
import type { Definitions } from './definitions.ts';
import { batch, invoke } from './networks.ts';
import type { Readers } from './reader.ts';
import type { Requester } from './requester.ts';
import { talk } from './sessions.ts';
import { Slots } from './slots.ts';
import { converse } from './spaces.ts';
import { giveTasks, plan, serve } from './work.ts';

export interface Load {
  /** Resolves when every client has brought to its end what it had begun. */
  ended: Promise<unknown>;
  compare(): Promise<CopyFact[]>;
  usage(): Promise<Evidence['usage']['reported']>;
  close(): Promise<void>;
}

/** Users who write into a copy; registered before the load begins. */
export function offlineUsers(concurrency: number): string[] {
  return Array.from({ length: Math.max(1, Math.round(concurrency * 0.03)) }, (_, n) => `offline-${n}`);
}

/** Puts load on the chosen doors until the requester is stopped. Doors share the turns that may be under way. */
export function startLoad(
  requester: Requester,
  definitions: Definitions,
  readers: Readers,
  { doors, concurrency }: Options,
): Load {
  const inFlight = new Slots(concurrency);
  const lanes: Promise<void>[] = [];
  const copies: Copy[] = [];
  const add = (door: Options['doors'][number], share: number, lane: (n: number) => Promise<void>) => {
    if (!doors.includes(door)) return;
    const count = Math.max(1, Math.round(concurrency * share));
    for (let n = 0; n < count; n++) lanes.push(lane(n));
  };
  add('sessions', 0.45, (n) => talk(requester, definitions, readers, { user: `user-${n % 20}`, inFlight }));
  add('spaces', 0.2, () => converse(requester, definitions, readers, { inFlight }));
  add('networks', 0.15, () => invoke(requester, definitions, { inFlight }));
  add('batches', 0.03, () => batch(requester, definitions, { inFlight }));
  add('tasks', 0.1, (n) => giveTasks(requester, definitions, { inFlight, user: `user-${n}` }));
  add('plans', 0.1, () => plan(requester, definitions));
  add('services', 0.05, () => serve(requester, definitions, { inFlight }));
  // Copies that only read: of somebody who talks, and of a member of spaces.
  if (doors.includes('sync')) copies.push(new Copy(requester, 'user-0'), new Copy(requester, 'person-0'));
  if (doors.includes('sync'))
    for (const user of offlineUsers(concurrency)) {
      const copy = new Copy(requester, user);
      copies.push(copy);
      lanes.push(copy.write(definitions));
    }
  return {
    ended: Promise.all(lanes),
    compare: async () => (await Promise.all(copies.map((copy) => copy.compare()))).flat(),
    usage: () => reportedUsage(requester),
    close: async () => void (await Promise.all(copies.map((copy) => copy.close()))),
  };
}

async function reportedUsage(requester: Requester): Promise<Evidence['usage']['reported']> {
  const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
  const report = await requester.insist(() => requester.client.usage.read({ query: { from } }));
  return report?.total ?? { inputTokens: -1, outputTokens: -1 };
}
