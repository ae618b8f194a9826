import { newId } from '../../base/index.ts';
import type { Rows } from '../database.ts';

/** The entity that an application knows under this id; a human, made where there is none yet. */
export async function ensureEntity(
  on: Rows,
  project: string,
  externalId: string,
): Promise<{ id: string; type: string }> {
  const find = () =>
    on
      .selectFrom('entities')
      .select(['id', 'type'])
      .where('project_id', '=', project)
      .where('external_id', '=', externalId)
      .executeTakeFirst();
  const found = await find();
  if (found) return found;
  await on
    .insertInto('entities')
    .values({ id: newId(), project_id: project, type: 'human', external_id: externalId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())!;
}
