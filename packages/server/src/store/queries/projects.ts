import { newId } from '../../base/index.ts';
import type { Database } from '../database.ts';

/** The project that is there from the start, for whoever needs no other. */
export const FIRST_PROJECT = 'default';

/** Its id; made where it is not there yet, by whichever process comes first. */
export async function ensureProject(db: Database): Promise<string> {
  const find = () =>
    db.rows.selectFrom('projects').select('id').where('name', '=', FIRST_PROJECT).executeTakeFirst();
  const found = await find();
  if (found) return found.id;
  await db.rows
    .insertInto('projects')
    .values({ id: newId(), name: FIRST_PROJECT })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())!.id;
}
