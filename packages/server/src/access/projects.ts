import type { accessEndpoints, BodyOf, JsonObject, OutgoingRules } from '@troupe/protocol';
import { idPosition, type ListQuery, notFound, type Page, Refusal, readPage } from '../base/index.ts';
import { isAllowEntry } from '../outgoing/index.ts';
import {
  addKey,
  addProject,
  type Database,
  FIRST_PROJECT,
  type Furnish,
  findProject,
  hasModel,
  isTaken,
  listProjects,
  lockProject,
  markDefault,
  type ProjectRow,
  replaceKeySecret,
  updateProject,
} from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';
import { newKey } from './keys.ts';
import type { Secrets } from './secrets.ts';
import { requireTokenSecret } from './tokens.ts';

const FIRST_KEY = 'first';

type Change = BodyOf<typeof accessEndpoints.updateProject>;

/** The project of a caller. */
export class Projects {
  readonly #db: Database;
  readonly #secrets: Secrets;
  readonly #changed: (project?: string) => void;
  readonly #furnish: Furnish | undefined;

  /** `changed` is called after a project was changed here. */
  constructor(
    db: Database,
    secrets: Secrets,
    { changed, furnish }: { changed: (project?: string) => void; furnish: Furnish | undefined },
  ) {
    this.#db = db;
    this.#secrets = secrets;
    this.#changed = changed;
    this.#furnish = furnish;
  }

  /** Another project, and the first key for it: only whoever runs the server may. */
  async create(caller: Caller, name: string): Promise<ProjectRow & { key: string }> {
    await this.requireOperator(caller);
    const { key, stored } = newKey('secret');
    const creating = this.#db.rows.transaction().execute(async (rows) => {
      const made = await addProject(rows, name);
      await addKey(rows, {
        project: made.id,
        name: FIRST_KEY,
        ...stored,
        scopes: [],
        expiresAt: null,
      });
      await this.#furnish?.(rows, made.id);
      await audit(rows, caller, 'project.created', made.id, { name });
      return made;
    });
    const row = await creating.catch((error: unknown) => {
      if (!isTaken(error, 'projects_name')) throw error;
      throw new Refusal('conflict', 'name_taken', `Another project is called "${name}".`);
    });
    return { ...row, key };
  }

  /** Another secret for the first key of a project whose first secret nobody has: the server died before it was sent. */
  async reissue(caller: Caller, id: string): Promise<ProjectRow & { key: string }> {
    await this.requireOperator(caller);
    const { key, stored } = newKey('secret');
    const { prefix, hash } = stored;
    const replaced = await replaceKeySecret(
      this.#db.rows,
      { project: id, name: FIRST_KEY },
      { prefix, hash },
    );
    if (!replaced) throw notFound('project');
    return { ...(await findProject(this.#db.rows, id)), key };
  }

  async list(caller: Caller, query: ListQuery): Promise<Page<ProjectRow>> {
    await this.requireOperator(caller);
    return readPage(query, {
      position: idPosition,
      positionOf: ({ id }) => id,
      read: (after, limit) => listProjects(this.#db.rows, after, limit),
    });
  }

  /** What a project may reach of the operator's network is the operator's to decide, also for the project that asks. */
  async changeOutgoing(caller: Caller, id: string, outgoing: OutgoingRules): Promise<ProjectRow> {
    await this.requireOperator(
      caller,
      'What a project may reach is decided by whoever runs the server.',
    ).catch((refusal: unknown) => {
      // Whether there are others is nobody's business but the operator's.
      throw id === caller.project ? refusal : notFound('project');
    });
    const issues = outgoing.allow.flatMap((entry, index) =>
      isAllowEntry(entry)
        ? []
        : [{ path: `outgoing.allow.${index}`, message: 'is no host, address or range' }],
    );
    if (issues.length > 0) {
      throw new Refusal('invalid', 'allow_entry_invalid', 'The list has entries that mean nothing.', {
        hint: 'Write them as intranet.example, 10.0.0.5:8080, [fd00::1]:443 or 10.1.0.0/16.',
        issues,
      });
    }
    const row = await this.#db.rows.transaction().execute(async (rows) => {
      const before = await lockProject(rows, id);
      if (!before) throw notFound('project');
      const changed = await updateProject(rows, id, { outgoing });
      const data = { from: (before.outgoing as OutgoingRules).allow, to: outgoing.allow };
      await audit(rows, caller, 'project.outgoing_changed', id, data);
      return changed;
    });
    this.#changed(id);
    return row;
  }

  async requireOperator(
    { project }: Caller,
    message = 'Projects are made by whoever runs the server.',
  ): Promise<void> {
    if (await this.isOperator({ project })) return;
    throw new Refusal('forbidden', 'forbidden', message, {
      hint: `Use a key of the project "${FIRST_PROJECT}".`,
    });
  }

  /** Whether it is the project of whoever runs the server. */
  async isOperator({ project }: Pick<Caller, 'project'>): Promise<boolean> {
    return (await findProject(this.#db.rows, project)).name === FIRST_PROJECT;
  }

  async get({ project }: Caller): Promise<ProjectRow> {
    return findProject(this.#db.rows, project);
  }

  async update(caller: Caller, change: Change): Promise<ProjectRow> {
    const { tokens, defaultModelId, compactionModelId, name } = change;
    const { project } = caller;
    const update = this.#db.rows.transaction().execute(async (rows) => {
      const before = await findProject(rows, project);
      if (name !== undefined && name !== before.name && before.name === FIRST_PROJECT) {
        throw new Refusal('conflict', 'name_fixed', `The project "${FIRST_PROJECT}" keeps its name.`, {
          hint: 'Troupe finds it by that name at every start.',
        });
      }
      if (tokens?.secretName) {
        const value = await this.#secrets.reveal(project, tokens.secretName, rows);
        if (value === null) {
          throw new Refusal('invalid', 'secret_not_found', `There is no secret "${tokens.secretName}".`, {
            hint: 'Set it first: PUT /v1/secrets/{name}.',
          });
        }
        requireTokenSecret(tokens.secretName, value);
      }
      for (const model of [defaultModelId, compactionModelId]) {
        if (model && !(await hasModel(rows, project, model)))
          throw new Refusal('invalid', 'model_not_found', `There is no model ${model} in this project.`);
      }
      const row = await updateProject(rows, project, {
        ...change,
        tokens: tokens as JsonObject | null | undefined,
      });
      if (defaultModelId !== undefined) await markDefault(rows, project, defaultModelId);
      await audit(rows, caller, 'project.updated', project, { fields: Object.keys(change) });
      return row;
    });
    const row = await update.catch((error: unknown) => {
      if (!isTaken(error, 'projects_name')) throw error;
      throw new Refusal('conflict', 'name_taken', `Another project is called "${name}".`);
    });
    this.#changed();
    return row;
  }
}
