import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf, StartupError } from '../base/index.ts';
import { registerCodeTools } from '../definitions/tools/index.ts';
import { type Database, ensureProject } from '../store/index.ts';
import { type CodeFunctions, codeFunctions } from '../tools/index.ts';
import type { Program } from './program.ts';

/** The functions that modules of the user declare. Whatever is wrong with one stops the start, with a sentence. */
export async function loadCodeTools(paths: readonly string[]): Promise<CodeFunctions> {
  const declared = await Promise.all(
    paths.map(async (path) => ({ from: path, tools: await declaredIn(path) })),
  );
  try {
    return codeFunctions(declared);
  } catch (error) {
    throw unusable(messageOf(error), error);
  }
}

async function declaredIn(path: string): Promise<readonly unknown[]> {
  let module: { default?: unknown };
  try {
    module = await import(pathToFileURL(isAbsolute(path) ? path : resolve(path)).href);
  } catch (error) {
    throw unusable(`${path} cannot be loaded: ${messageOf(error)}`, error);
  }
  const { default: tools } = module;
  if (Array.isArray(tools)) return tools;
  throw unusable(`${path} does not export a list of tools by default`);
}

function unusable(problem: string, cause?: unknown): StartupError {
  return new StartupError('code_tools_unusable', `The tools cannot be used: ${problem.replace(/\.$/, '')}.`, {
    hint: 'A module exports them by default, as [tool({ name, inputSchema, execute })]; docs/tools.md has an example.',
    cause,
  });
}

/** `dev` puts what it was given into the first project, so that agents can have it at once. */
export async function openCodeTools({ functions, logger }: Program, db: Database): Promise<void> {
  if (functions.size === 0) return;
  const project = await ensureProject(db);
  for (const { name, done } of await registerCodeTools(db, project, [...functions.values()])) {
    if (done === 'taken')
      logger.warn({ tool: name }, 'the project has a tool of this name and another kind: it stays as it is');
    else if (done !== 'unchanged') logger.info({ tool: name }, `code tool ${done}`);
  }
}
