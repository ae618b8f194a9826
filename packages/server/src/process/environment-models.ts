import { bringEnvironmentModels } from '../definitions/models/index.ts';
import { type Database, ensureProject } from '../store/index.ts';
import type { Program } from './program.ts';

/** The keys of the environment are the operator's: they bring models into the first project, and no other spends them. */
export async function openEnvironmentModels({ config, logger }: Program, db: Database): Promise<string> {
  const { openai, anthropic } = config.modelKeys;
  const project = await ensureProject(db);
  const keys = { openai: openai !== null, anthropic: anthropic !== null };
  for (const { provider, model, isDefault } of await bringEnvironmentModels(db, project, keys)) {
    logger.info(
      { provider, model, isDefault },
      'the environment has a key for this provider: added it with a model',
    );
  }
  return project;
}
