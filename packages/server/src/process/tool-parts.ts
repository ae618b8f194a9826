import { MOST_GOALS, MOST_MEMORIES } from '@troupe/protocol';
import { type Encryption, secretOf } from '../access/index.ts';
import { createOutgoing } from '../outgoing/index.ts';
import {
  allowedOutgoing,
  type Database,
  deleteGoals,
  deleteMemories,
  goalsOfRun,
  memoriesOfRun,
  setGoals,
  setMemories,
} from '../store/index.ts';
import type { MemoryPart, ToolParts } from '../tools/index.ts';

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(db: Database, encryption: Encryption): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: { reveal: (project, name) => secretOf(db.rows, encryption, project, name) },
    memory: memoryPart(db),
    outgoing: createOutgoing({ allowed: (project) => allowedOutgoing(db, project) }),
  };
}

function memoryPart({ rows }: Database): MemoryPart {
  return {
    setMemories: (where, memories) => setMemories(rows, where, memories, MOST_MEMORIES),
    memories: (where, keys) => memoriesOfRun(rows, where, { keys, most: 2 * MOST_MEMORIES }),
    deleteMemories: (where, keys) => deleteMemories(rows, where, keys),
    setGoals: (where, goals) => setGoals(rows, where, goals, MOST_GOALS),
    goals: (where, status) => goalsOfRun(rows, where, { status }),
    deleteGoals: (where, ids) => deleteGoals(rows, where, ids),
  };
}
