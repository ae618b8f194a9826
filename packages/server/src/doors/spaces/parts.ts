import { notFound } from '../../base/index.ts';
import type { Kernel } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';

export interface Parts {
  db: store.Database;
  kernel: Kernel;
}

/** Whoever acts: a project, and the person where it is one. */
export type Who = store.SpaceScope;

/** A person reaches the spaces that they are a member of; for anybody else there is no such space. */
export async function reach(db: store.Database, who: Who, space: string) {
  const found = await store.reachSpace(db, who, space);
  if (!found) throw notFound('space');
  return found;
}
