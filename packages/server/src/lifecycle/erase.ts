import { notFound, Refusal } from '../base/index.ts';
import type { Kernel } from '../kernel/index.ts';
import * as store from '../store/index.ts';

/** Notes that a person is to be erased; a job does it. Repeating it returns the same erasure. */
export async function requestErasure(
  db: store.Database,
  author: store.Author,
  entity: string,
): Promise<store.ErasureRow> {
  const refused = await store.requestErasure(db, author, entity);
  if (refused === 'not_found') throw notFound('entity');
  if (refused === 'entity_of_agent')
    throw new Refusal('conflict', 'entity_of_agent', 'The entity speaks for an agent.', {
      hint: 'Only people can be erased. Archive the agent instead.',
    });
  return getErasure(db, author.project, entity);
}

/** The receipt. */
export async function getErasure(
  db: store.Database,
  project: string,
  entity: string,
): Promise<store.ErasureRow> {
  const found = await store.findErasure(db, project, entity);
  if (!found) throw notFound('erasure');
  return found;
}

const SESSIONS = 20;
const CONTENTION_TRIES = 5;

/** Erases a person in batches. It may be killed and repeated at any point. */
export async function erasePerson(
  { db, kernel }: { db: store.Database; kernel: Pick<Kernel, 'cancel'> },
  person: { project: string; entity: string },
): Promise<void> {
  const erasure = await store.findErasure(db, person.project, person.entity);
  if (!erasure || erasure.finishedAt) return;
  const author: store.Author = { project: person.project, kind: 'system', id: null };
  for (let isDone = false; !isDone; ) {
    await eraseSessions({ db, kernel }, person, author);
    for (const space of await store.spacesSpokenIn(db, person)) {
      for (let from: number | null = 1; from !== null; )
        from = await store.blankMessages(db, person, space, from);
      await store.blankSpace(db, person, space);
    }
    for (const space of await store.spacesOfMember(db, person))
      await retried(() =>
        store.removeMember(db, { project: person.project, entityId: null }, space, person.entity),
      );
    isDone = await retried(() => store.finishErasure(db, person, author));
  }
}

async function eraseSessions(
  { db, kernel }: { db: store.Database; kernel: Pick<Kernel, 'cancel'> },
  person: { project: string; entity: string },
  author: store.Author,
): Promise<void> {
  for (;;) {
    const found = await store.threadsOfPerson(db, person, SESSIONS);
    if (found.length === 0) break;
    const threads = found.map(({ thread }) => thread);
    for (const run of await store.liveRunsOfPerson(db, threads)) await kernel.cancel(run, 'user', null);
    await retried(() => store.eraseThreads(db, person, threads, author));
  }
  while (await store.emptyDeletedThreads(db));
}

async function retried<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt >= CONTENTION_TRIES || !store.isContention(error)) throw error;
    }
  }
}
