import {
  type CommitItem,
  type Committed,
  commit,
  type Database,
  type Started,
  type StartItem,
  start,
} from '../store/index.ts';
import { GroupCommit } from './group-commit.ts';

/** The two statements that every run of a process sends, each batched. */
export interface Commits {
  commit: GroupCommit<CommitItem, Committed>;
  start: GroupCommit<StartItem, Started>;
  close(): void;
}

export function createCommits(
  db: Database,
  options: { mostItems?: number; mostInFlight?: number } = {},
): Commits {
  const commits = new GroupCommit<CommitItem, Committed>((items) => commit(db, items), {
    kind: 'commit',
    key: (item) => item.thread,
    ...options,
  });
  const starts = new GroupCommit<StartItem, Started>((items) => start(db, items), {
    kind: 'start',
    ...options,
  });
  return {
    commit: commits,
    start: starts,
    close() {
      commits.close();
      starts.close();
    },
  };
}
