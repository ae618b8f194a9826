import {
  type Advanced,
  type AdvanceItem,
  commitMany,
  type Database,
  type Started,
  type StartItem,
  startMany,
} from '../store/index.ts';
import { GroupCommit } from './group-commit.ts';

/** The two commits that every run of a process makes, each gathered into batches of its own. */
export interface Commits {
  advance: GroupCommit<AdvanceItem, Advanced>;
  start: GroupCommit<StartItem, Started>;
  close(): void;
}

export function createCommits(
  db: Database,
  options: { mostItems?: number; mostInFlight?: number } = {},
): Commits {
  const advances = new GroupCommit<AdvanceItem, Advanced>((items) => commitMany(db, items), {
    kind: 'advance',
    ...options,
  });
  const starts = new GroupCommit<StartItem, Started>((items) => startMany(db, items), {
    kind: 'start',
    ...options,
  });
  return {
    advance: advances,
    start: starts,
    close() {
      advances.close();
      starts.close();
    },
  };
}
