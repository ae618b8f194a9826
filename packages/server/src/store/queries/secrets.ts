import type { JsonObject } from '@troupe/protocol';
import type { Rows } from '../database.ts';
import { toJsonText } from '../json.ts';

const shown = ['name', 'created_at', 'updated_at'] as const;

export function putSecret(on: Rows, project: string, name: string, envelope: JsonObject) {
  return on
    .insertInto('secrets')
    .values({ project_id: project, name, envelope: toJsonText(envelope) })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'name']).doUpdateSet((set) => ({
        envelope: set.ref('excluded.envelope') as never,
        updated_at: set.fn<Date>('now', []),
      })),
    )
    .returning(shown)
    .executeTakeFirstOrThrow();
}

/** By name; `after` is the last name of the page before. */
export function listSecrets(
  on: Rows,
  project: string,
  { limit, after }: { limit: number; after?: string | undefined },
) {
  return on
    .selectFrom('secrets')
    .select(shown)
    .where('project_id', '=', project)
    .$if(after !== undefined, (query) => query.where('name', '>', after!))
    .orderBy('name')
    .limit(limit)
    .execute();
}

export async function findSecret(on: Rows, project: string, name: string): Promise<JsonObject | null> {
  const row = await on
    .selectFrom('secrets')
    .select('envelope')
    .where('project_id', '=', project)
    .where('name', '=', name)
    .executeTakeFirst();
  return row ? (row.envelope as JsonObject) : null;
}

export async function deleteSecret(on: Rows, project: string, name: string): Promise<boolean> {
  const row = await on
    .deleteFrom('secrets')
    .where('project_id', '=', project)
    .where('name', '=', name)
    .returning('name')
    .executeTakeFirst();
  return row !== undefined;
}

export type SecretRow = Awaited<ReturnType<typeof listSecrets>>[number];
