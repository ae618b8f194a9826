import { Database, newId, silentLogger } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { toJsonText } from '../../src/store/json.ts';

test('the generated types are those of what is read and written', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  const db = new Database({ url, applicationName: 'troupe/test', logger: silentLogger });
  const project = newId();
  await db.rows.insertInto('projects').values({ id: project, name: 'one' }).execute();
  const entity = { id: newId(), project_id: project, type: 'human' as const };
  await db.rows
    .insertInto('entities')
    .values({ ...entity, metadata: toJsonText(['a', { b: null }]) })
    .execute();
  await db.rows
    .insertInto('budgets')
    .values({
      id: newId(),
      project_id: project,
      scope: 'project',
      scope_id: project,
      unit: 'tokens',
      amount: 2 ** 40,
    })
    .execute();
  const found = await db.rows
    .selectFrom('entities')
    .innerJoin('budgets', 'budgets.project_id', 'entities.project_id')
    .select([
      'entities.metadata',
      'entities.created_at',
      'entities.external_id',
      'budgets.amount',
      'budgets.on_exhausted',
    ])
    .executeTakeFirstOrThrow();
  // Read through their types: a change of these that the types do not follow is an error of the compiler.
  const {
    created_at,
    amount,
    on_exhausted,
    external_id,
  }: {
    created_at: Date;
    amount: number;
    on_exhausted: 'stop' | 'fallback' | 'wait';
    external_id: string | null;
  } = found;
  expect(created_at).toBeInstanceOf(Date);
  expect([amount, on_exhausted, external_id]).toEqual([2 ** 40, 'stop', null]);
  expect(found.metadata).toEqual(['a', { b: null }]);
  await db.close();
  await drop();
});
