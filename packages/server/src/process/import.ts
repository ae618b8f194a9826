import { StartupError } from '../base/index.ts';
import { importProject } from '../lifecycle/index.ts';
import { openDatabase, type Program, requireDatabase } from './program.ts';
import { tell } from './tell.ts';

/** Makes a project of an export, says what it did, and ends. */
export async function importFile(program: Program): Promise<void> {
  const { file, name } = program.importing ?? {};
  if (!file)
    throw new StartupError('bad_config', 'The file to import is missing.', { hint: 'troupe import <file>' });
  const db = await openDatabase(program, requireDatabase(program));
  const { project, rows, leftOut } = await importProject(db, file, { name });
  const secrets = leftOut?.secrets ?? [];
  const hint = secrets.length > 0 ? `\nSet these secrets again: ${secrets.join(', ')}.` : '';
  tell(program, { project, rows, secrets }, `Imported ${rows} rows of the project ${project}.${hint}`);
}
