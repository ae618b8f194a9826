import { notFound } from '../../../base/index.ts';
import {
  type AgentRow,
  type Author,
  type Database,
  isTaken,
  lockAgentNamed,
  readAgent,
} from '../../../store/index.ts';
import { setStatus } from '../agents.ts';
import { addAgent, changeAgent, changing } from '../change.ts';
import { definitionOf } from '../definition.ts';
import { type Format, fileNameOf, mediaTypes } from './formats.ts';
import { readFile } from './read.ts';
import { writeFile } from './write.ts';

export interface AgentFile {
  text: string;
  mediaType: string;
  fileName: string;
}

export async function exportAgent(
  db: Database,
  project: string,
  id: string,
  format: Format,
): Promise<AgentFile> {
  const row = await readAgent(db.rows, project, id);
  if (!row) throw notFound('agent');
  return {
    text: writeFile(definitionOf(row), format),
    mediaType: mediaTypes[format],
    fileName: fileNameOf(row.name, format),
  };
}

/**
 * The agent of that name becomes what the file says, all of it: what the file leaves out is the default, not what was there.
 * One that was archived is active again.
 */
export async function importAgent(
  db: Database,
  author: Author,
  { text, mediaType }: { text: string; mediaType: string },
): Promise<AgentRow> {
  const definition = readFile(text, mediaType);
  const noted = { action: 'agent.imported', notes: 'Imported from a file.' };
  const write = () =>
    changing(db, async (transaction) => {
      const row = await lockAgentNamed(transaction, author.project, definition.name);
      if (!row) return addAgent(transaction, author, definition, noted);
      const changed = await changeAgent(transaction, author, { row, definition, noted });
      // Whoever brings a file wants the agent that it describes, and one that is archived takes no work.
      return setStatus(transaction, author, changed, 'active', noted.notes);
    });
  try {
    return await write();
  } catch (error) {
    // Another import made it first; now it is there to be changed.
    if (!isTaken((error as { cause?: unknown }).cause, 'agents_name')) throw error;
    return await write();
  }
}

export { readDocument } from './read.ts';
