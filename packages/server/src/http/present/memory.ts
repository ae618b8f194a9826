import type { Goal, Memory } from '@troupe/protocol';
import type { GoalRow, MemoryRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentMemory({ key, value, createdAt, updatedAt }: MemoryRow): Memory {
  return isoTimes({ key, value, createdAt, updatedAt });
}

export function presentGoal(row: GoalRow): Goal {
  return isoTimes(row);
}
