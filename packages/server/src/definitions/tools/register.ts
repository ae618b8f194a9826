import { type JsonObject, newTool, type ToolEffect } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';
import { type Author, type Database, toolsNamed } from '../../store/index.ts';
import { createTool, updateTool } from './tools.ts';

/** What a module declares of a function, as its row has it. */
export interface DeclaredTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
  effect: ToolEffect;
  timeoutMs: number;
}

export interface RegisteredTool {
  name: string;
  /** `taken`: the project has a tool of this name and another kind, which stays. */
  done: 'created' | 'changed' | 'unchanged' | 'taken';
}

/** Makes rows of functions, or makes the rows what the functions are now. None is deleted, and what only the row has stays. */
export async function registerCodeTools(
  db: Database,
  project: string,
  declared: readonly DeclaredTool[],
): Promise<RegisteredTool[]> {
  const author: Author = { project, kind: 'system', id: null };
  const registered: RegisteredTool[] = [];
  for (const one of declared) registered.push({ name: one.name, done: await register(db, author, one) });
  return registered;
}

async function register(
  db: Database,
  author: Author,
  declared: DeclaredTool,
): Promise<RegisteredTool['done']> {
  const { name, description, inputSchema, effect, timeoutMs } = declared;
  const rest = { description, inputSchema, effect, timeoutMs };
  const [known] = await toolsNamed(db.rows, author.project, [name]);
  if (!known) {
    try {
      await createTool(db, author, newTool.parse({ name, kind: 'code', ...rest }));
      return 'created';
    } catch (error) {
      // Another process that started at the same time was first.
      if (!(error instanceof Refusal && error.code === 'name_taken')) throw error;
      return register(db, author, declared);
    }
  }
  if (known.kind !== 'code') return 'taken';
  const { version } = await updateTool(db, author, known.id, { ...rest, function: name });
  return version === known.version ? 'unchanged' : 'changed';
}
