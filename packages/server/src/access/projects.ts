import type { accessEndpoints, BodyOf, JsonObject, Project, TokenRules } from '@troupe/protocol';
import { Refusal } from '../base/index.ts';
import {
  type Database,
  FIRST_PROJECT,
  findProject,
  findSecret,
  hasModel,
  isUniqueViolation,
  updateProject,
} from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';

type Change = BodyOf<typeof accessEndpoints.updateProject>;

/** The project of a caller. */
export class Projects {
  readonly #db: Database;
  readonly #changed: () => void;

  /** `changed` is called after a project was changed here. */
  constructor(db: Database, changed: () => void) {
    this.#db = db;
    this.#changed = changed;
  }

  async get({ project }: Caller): Promise<Project> {
    return present(await findProject(this.#db.rows, project));
  }

  async update(caller: Caller, change: Change): Promise<Project> {
    const { tokens, defaultModelId, name } = change;
    const { project } = caller;
    const update = this.#db.rows.transaction().execute(async (rows) => {
      const before = await findProject(rows, project);
      if (name !== undefined && name !== before.name && before.name === FIRST_PROJECT) {
        throw new Refusal('conflict', 'name_fixed', `The project "${FIRST_PROJECT}" keeps its name.`, {
          hint: 'Troupe finds it by that name at every start.',
        });
      }
      if (tokens?.secretName && !(await findSecret(rows, project, tokens.secretName))) {
        throw new Refusal('invalid', 'secret_not_found', `There is no secret "${tokens.secretName}".`, {
          hint: 'Set it first: PUT /v1/secrets/{name}.',
        });
      }
      if (defaultModelId && !(await hasModel(rows, project, defaultModelId)))
        throw new Refusal('invalid', 'model_not_found', 'There is no such model in this project.');
      const row = await updateProject(rows, project, {
        ...change,
        tokens: tokens as JsonObject | null | undefined,
      });
      await audit(rows, caller, 'project.updated', project, { fields: Object.keys(change) });
      return row;
    });
    const row = await update.catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new Refusal('conflict', 'name_taken', `Another project is called "${name}".`);
    });
    this.#changed();
    return present(row);
  }
}

type Row = Awaited<ReturnType<typeof findProject>>;

function present(row: Row): Project {
  return {
    id: row.id,
    name: row.name,
    tokens: row.tokens as TokenRules | null,
    defaultModelId: row.default_model_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
