import { MOST_GOALS, MOST_MEMORIES } from '@troupe/protocol';
import { type Encryption, secretToSend } from '../access/index.ts';
import type { Outgoing } from '../outgoing/index.ts';
import {
  type Database,
  deleteGoals,
  deleteMemories,
  goalsOfRun,
  memoriesOfRun,
  setGoals,
  setMemories,
} from '../store/index.ts';
import type { MemoryPart, ToolParts } from '../tools/index.ts';
import { openOutgoing } from './allow-lists.ts';
import { findingsIn } from './findings.ts';

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(
  db: Database,
  encryption: Encryption,
  outgoing: Outgoing = openOutgoing(() => db),
): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: { reveal: (project, name) => secretToSend(db, encryption, project, name) },
    memory: memoryPart(db),
    outgoing,
    findings: findingsIn(db),
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
