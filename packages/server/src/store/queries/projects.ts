import type { JsonObject } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { inTransaction, type Transaction } from '../transaction.ts';

/** What a project has from the start is put into it by this, in the transaction that makes it. */
export type Furnish = (transaction: Transaction, project: string) => Promise<void>;

/** The project that is there from the start, for whoever needs no other. */
export const FIRST_PROJECT = 'default';

/** Its id; made where it is not there yet, by whichever process comes first. */
export async function ensureProject(db: Database, furnish?: Furnish): Promise<string> {
  const find = () =>
    db.rows.selectFrom('projects').select('id').where('name', '=', FIRST_PROJECT).executeTakeFirst();
  const found = await find();
  if (found) return found.id;
  await inTransaction(db, async (transaction) => {
    const made = await transaction
      .insertInto('projects')
      .values({ id: newId(), name: FIRST_PROJECT })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    if (made) await furnish?.(transaction, made.id);
  });
  return (await find())!.id;
}

/** Those to which their first agents were not brought yet. */
export async function projectsWithoutAgents(db: Database): Promise<string[]> {
  const rows = await db.rows
    .selectFrom('projects')
    .select('id')
    .where('agents_brought', '=', false)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** False: somebody did it. Whoever else tries waits until the transaction ends. */
export async function noteAgentsBrought(transaction: Transaction, project: string): Promise<boolean> {
  const noted = await transaction
    .updateTable('projects')
    .set({ agents_brought: true })
    .where('id', '=', project)
    .where('agents_brought', '=', false)
    .returning('id')
    .executeTakeFirst();
  return noted !== undefined;
}

const shown = [
  'id',
  'name',
  'tokens',
  'default_model_id',
  'compaction_model_id',
  'outgoing',
  'created_at',
  'updated_at',
] as const;

export function findProject(on: Rows, id: string) {
  return on.selectFrom('projects').select(shown).where('id', '=', id).executeTakeFirstOrThrow();
}

/** Locked until the transaction ends. */
export function lockProject(on: Rows, id: string) {
  return on.selectFrom('projects').select(shown).where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Another project may have the name: see `isTaken`. */
export function addProject(on: Rows, name: string) {
  return on.insertInto('projects').values({ id: newId(), name }).returning(shown).executeTakeFirstOrThrow();
}

export function listProjects(on: Rows, after: string | undefined, limit: number) {
  return on
    .selectFrom('projects')
    .select(shown)
    .$if(after !== undefined, (query) => query.where('id', '>', after!))
    .orderBy('id')
    .limit(limit)
    .execute();
}

export interface ProjectChange {
  name?: string | undefined;
  tokens?: JsonObject | null | undefined;
  defaultModelId?: string | null | undefined;
  compactionModelId?: string | null | undefined;
  outgoing?: { allow: string[] } | undefined;
}

/** Another project may have the name: see `isTaken`. */
export async function updateProject(on: Rows, id: string, change: ProjectChange) {
  const { name, tokens, defaultModelId, compactionModelId, outgoing } = change;
  return on
    .updateTable('projects')
    .set((set) => ({
      updated_at: set.fn<Date>('now', []),
      ...(name === undefined ? {} : { name }),
      ...(tokens === undefined ? {} : { tokens: tokens && toJsonText(tokens) }),
      ...(defaultModelId === undefined ? {} : { default_model_id: defaultModelId }),
      ...(compactionModelId === undefined ? {} : { compaction_model_id: compactionModelId }),
      ...(outgoing === undefined ? {} : { outgoing: toJsonText(outgoing) }),
    }))
    .where('id', '=', id)
    .returning(shown)
    .executeTakeFirstOrThrow();
}

/** Whether this is a model of the project. */
export async function hasModel(on: Rows, project: string, model: string): Promise<boolean> {
  const row = await on
    .selectFrom('llm_models')
    .select('id')
    .where('project_id', '=', project)
    .where('id', '=', model)
    .executeTakeFirst();
  return row !== undefined;
}

/** What the project's requests may reach beyond the internet, and whether it is the one of whoever runs the server. */
export async function allowedOutgoing(
  db: Database,
  project: string,
): Promise<{ entries: string[]; first: boolean }> {
  const rows = await db.run<{ entries: string[]; first: boolean }>(
    {
      name: 'allowed_outgoing',
      text: `select outgoing -> 'allow' as entries, name = $2 as first from troupe.projects where id = $1`,
      values: [project, FIRST_PROJECT],
    },
    db.pool,
  );
  return rows[0] ?? { entries: [], first: false };
}

export type ProjectRow = Awaited<ReturnType<typeof findProject>>;
