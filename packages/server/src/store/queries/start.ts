import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { NewMessage } from './advance.ts';

export interface NewRun {
  id: string;
  door: string;
  agent?: string;
  entity?: string;
  snapshot: string;
  parent?: string;
  root?: string;
  triggerType: string;
  trigger?: JsonObject;
  chainDepth?: number;
  /** One run at a time in its thread; later ones wait their turn. */
  serial?: boolean;
  lane?: string;
  laneLimit?: number;
  wallMs: number;
  historyLimit?: number;
  budgets?: string[];
  metadata?: JsonObject;
  delayMs?: number;
}

export interface StartItem {
  project: string;
  thread: string;
  createThread?: 'session' | 'space' | 'sub_agent' | 'run';
  message?: NewMessage;
  run?: NewRun;
}

export type Started =
  | { ok: true; run: string | null; thread: string; seq: number | null; ready?: boolean; duplicate: boolean }
  | { ok: false; code: 'thread_not_found' };

export async function startMany(db: Database, items: StartItem[]): Promise<Started[]> {
  const rows = await db.run<{ verdicts: Started[] }>({
    name: 'start_many',
    text: 'select troupe.start_many($1::jsonb) as verdicts',
    values: [toJsonText(items)],
  });
  return rows[0]!.verdicts;
}

export type PostPolicy = 'queue' | 'steer' | 'interrupt' | 'reject';

export type Posted =
  | {
      ok: true;
      outcome: 'started' | 'steered' | 'interrupted' | 'duplicate';
      thread: string;
      seq: number;
      run: string | null;
      /** Whether the run may be claimed at once. */
      ready?: boolean;
      /** The run that had to give way. */
      canceled?: string;
    }
  | { ok: false; code: 'busy' | 'thread_not_found'; run?: string };

/** A message to a serial thread that may be busy. */
export async function post(
  db: Database,
  item: StartItem & { message: NewMessage; run: NewRun; policy: PostPolicy; by?: string },
): Promise<Posted> {
  const rows = await db.run<{ verdict: Posted }>({
    name: 'post',
    text: 'select troupe.post($1::jsonb) as verdict',
    values: [toJsonText(item)],
  });
  return rows[0]!.verdict;
}
