import { migrateAll, type Program, requireDatabase } from './program.ts';
import { tell } from './tell.ts';

/** Brings the database to the current schema, says what it did, and ends. */
export async function migrateDatabase(program: Program): Promise<void> {
  const applied = await migrateAll(program, requireDatabase(program));
  tell(
    program,
    { applied },
    applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The database is up to date.',
  );
}
