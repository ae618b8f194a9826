import { type GoalStatus, MOST_GOALS } from '@troupe/protocol';
import { z } from 'zod';
import { type ListQuery, newId, notFound, type Page, Refusal, readPage } from '../base/index.ts';
import {
  type Database,
  deleteGoals,
  type GoalRow,
  type GoalWrite,
  inTransaction,
  type Kept,
  listGoals as listRows,
  noteChange,
  readGoal,
  setGoals,
  type Transaction,
} from '../store/index.ts';
import { type KeptAsked, keptFor, keptOf, noteOf } from './owner.ts';

type Given = Omit<GoalWrite, 'id' | 'known'>;

const position = z.object({ priority: z.int().min(1).max(5), id: z.uuid() });

export async function listGoals(
  db: Database,
  asked: KeptAsked,
  { status, ...query }: ListQuery & { status?: GoalStatus | undefined },
): Promise<Page<GoalRow>> {
  return readPage(query, {
    position,
    positionOf: ({ priority, id }) => ({ priority, id }),
    read: async (after, limit) => {
      const kept = await keptOf(db, asked);
      return kept ? listRows(db.rows, kept, { status, after, limit }) : [];
    },
  });
}

export async function createGoal(db: Database, asked: KeptAsked, given: Given): Promise<GoalRow> {
  const kept = await keptFor(db, asked);
  const write = { ...given, id: newId(), known: false };
  return change(db, asked, { kept, write, action: 'goal.created' });
}

export async function getGoal(db: Database, asked: KeptAsked, id: string): Promise<GoalRow> {
  const kept = await keptOf(db, asked);
  const goal = kept && (await readGoal(db.rows, kept, id));
  if (!goal) throw notFound('goal');
  return goal;
}

export async function updateGoal(db: Database, asked: KeptAsked, id: string, given: Given): Promise<GoalRow> {
  const kept = await keptOf(db, asked);
  if (!kept) throw notFound('goal');
  return change(db, asked, { kept, write: { ...given, id, known: true }, action: 'goal.changed' });
}

export async function deleteGoal(db: Database, asked: KeptAsked, id: string): Promise<void> {
  const kept = await keptOf(db, asked);
  if (!kept) throw notFound('goal');
  await inTransaction(db, async (transaction) => {
    const gone = await deleteGoals(transaction, kept, [id]);
    if (!gone.ok || gone.deleted === 0) throw notFound('goal');
    await note(transaction, asked, { kept, id, action: 'goal.deleted' });
  });
}

async function change(
  db: Database,
  asked: KeptAsked,
  { kept, write, action }: { kept: Kept; write: GoalWrite; action: string },
): Promise<GoalRow> {
  return inTransaction(db, async (transaction) => {
    const written = await setGoals(transaction, kept, [write], MOST_GOALS);
    if (!written.ok && written.code === 'not_found') throw notFound('goal');
    if (!written.ok) {
      throw new Refusal('conflict', 'too_many_goals', `An agent keeps ${MOST_GOALS} goals, no more.`, {
        hint: 'Delete those that are completed or abandoned.',
      });
    }
    await note(transaction, asked, { kept, id: write.id, action });
    return (await readGoal(transaction, kept, write.id))!;
  });
}

function note(
  transaction: Transaction,
  { author, agentId }: KeptAsked,
  { kept, id, action }: { kept: Kept; id: string; action: string },
): Promise<void> {
  return noteChange(transaction, author, { action, target: id, data: { agentId, ...noteOf(kept) } });
}
