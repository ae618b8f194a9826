import type { Kernel } from '../kernel/index.ts';
import type { Database, SessionScope } from '../store/index.ts';

/** The project of the caller, and the person if the caller is one. */
export type Who = SessionScope;

export interface Parts {
  db: Database;
  kernel: Kernel;
}
