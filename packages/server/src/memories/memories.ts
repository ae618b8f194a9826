import { MOST_MEMORIES } from '@troupe/protocol';
import { z } from 'zod';
import { type ListQuery, notFound, type Page, Refusal, readPage } from '../base/index.ts';
import {
  type Database,
  deleteMemories,
  inTransaction,
  listMemories as listRows,
  type MemoryRow,
  noteChange,
  readMemory,
  setMemories as setRows,
} from '../store/index.ts';
import { type KeptAsked, keptFor, keptOf, noteOf } from './owner.ts';

export async function listMemories(
  db: Database,
  asked: KeptAsked,
  query: ListQuery & { prefix?: string | undefined; search?: string | undefined },
): Promise<Page<MemoryRow>> {
  const { prefix, search } = query;
  return readPage(query, {
    position: z.string().max(200),
    positionOf: ({ key }) => key,
    read: async (after, limit) => {
      const kept = await keptOf(db, asked);
      return kept ? listRows(db.rows, kept, { prefix, search, after, limit }) : [];
    },
  });
}

export async function getMemory(db: Database, asked: KeptAsked, key: string): Promise<MemoryRow> {
  const kept = await keptOf(db, asked);
  const row = kept && (await readMemory(db.rows, kept, key));
  if (!row) throw notFound('memory');
  return row;
}

/** All of them or none. Of a key that is there twice, the last. */
export async function setMemories(
  db: Database,
  asked: KeptAsked,
  memories: readonly { key: string; value: string }[],
): Promise<number> {
  const kept = await keptFor(db, asked);
  const once = [...new Map(memories.map((memory) => [memory.key, memory])).values()];
  await inTransaction(db, async (transaction) => {
    const written = await setRows(transaction, kept, once, MOST_MEMORIES);
    if (!written.ok) {
      throw new Refusal(
        'conflict',
        'too_many_memories',
        `An agent keeps ${MOST_MEMORIES} memories, no more.`,
        {
          hint: 'Delete some, or write what belongs together under one key.',
        },
      );
    }
    const data = { count: once.length, ...noteOf(kept) };
    await noteChange(transaction, asked.author, { action: 'memory.set', target: asked.agentId, data });
  });
  return once.length;
}

export async function setMemory(
  db: Database,
  asked: KeptAsked,
  key: string,
  value: string,
): Promise<MemoryRow> {
  await setMemories(db, asked, [{ key, value }]);
  return getMemory(db, asked, key);
}

export async function deleteMemory(db: Database, asked: KeptAsked, key: string): Promise<void> {
  const kept = await keptOf(db, asked);
  if (!kept) throw notFound('memory');
  await inTransaction(db, async (transaction) => {
    const gone = await deleteMemories(transaction, kept, [key]);
    if (!gone.ok || gone.deleted === 0) throw notFound('memory');
    const data = { count: 1, ...noteOf(kept) };
    await noteChange(transaction, asked.author, { action: 'memory.deleted', target: asked.agentId, data });
  });
}
