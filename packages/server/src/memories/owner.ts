import { notFound, Refusal } from '../base/index.ts';
import { type Author, type Database, ensureEntity, findKept, type Kept } from '../store/index.ts';

/** Who asks for what an agent keeps, and of whom. */
export interface KeptAsked {
  author: Author;
  /** A person who asks for themselves. */
  entityId: string | null;
  agentId: string;
  /** The name of a person; without it, what is kept for all. */
  user?: string | undefined;
}

/** Null where nothing can be kept yet: nobody has that name. */
export async function keptOf(db: Database, asked: KeptAsked): Promise<Kept | null> {
  const { entity, owner } = await find(db, asked);
  return owner === null ? null : { project: asked.author.project, entity, owner };
}

/** For whoever writes: the person is made where there is none of that name. */
export async function keptFor(db: Database, asked: KeptAsked): Promise<Kept> {
  const { project } = asked.author;
  const { entity, owner } = await find(db, asked);
  return { project, entity, owner: owner ?? (await ensureEntity(db.rows, project, asked.user!)).id };
}

async function find(db: Database, { author, entityId, agentId, user }: KeptAsked) {
  if (entityId !== null && user !== undefined) {
    throw new Refusal('forbidden', 'forbidden', 'A person reaches what is kept of themselves only.', {
      hint: 'Leave `user` out, or use a secret key.',
    });
  }
  const found = await findKept(db, {
    project: author.project,
    agent: agentId,
    person: entityId,
    user: user ?? null,
  });
  if (!found) throw notFound('agent');
  return found;
}

/** For the audit log: of whom, and never what. */
export function noteOf({ entity, owner }: Kept) {
  return owner === entity ? {} : { person: owner };
}
