import type { BodyOf, entityEndpoints, QueryOf } from '@troupe/protocol';
import { type IdRange, notFound, Refusal, readPageById } from '../base/index.ts';
import * as store from '../store/index.ts';
import { audit } from './audit.ts';
import type { Caller } from './caller.ts';

/** The people and agents of a project. Agents get their entity with the agent; people are registered, or come with a token. */
export class Entities {
  readonly #db: store.Database;
  readonly #deleted: () => void;

  /** `deleted` is called after a person was deleted here: whoever remembers them must look again. */
  constructor(db: store.Database, deleted: () => void) {
    this.#db = db;
    this.#deleted = deleted;
  }

  async create(
    { project }: Caller,
    person: BodyOf<typeof entityEndpoints.create> & { id: string },
  ): Promise<store.EntityRow> {
    await store.addPerson(this.#db, project, person).catch((error: unknown) => {
      if (!store.isTaken(error, 'entities_external')) throw error;
      throw new Refusal(
        'conflict',
        'external_id_taken',
        `There is somebody with the external id "${person.externalId}".`,
        { hint: 'GET /v1/entities?externalId=… finds them.' },
      );
    });
    return this.#find(project, person.id);
  }

  async list({ project }: Caller, query: QueryOf<typeof entityEndpoints.list>) {
    const { limit, cursor, ...filter } = query;
    const list = (range: IdRange) => store.listEntities(this.#db, project, { ...filter, ...range });
    return readPageById({ limit, cursor }, list);
  }

  async get({ project }: Caller, id: string): Promise<store.EntityRow> {
    return this.#find(project, id);
  }

  async me({ project, entityId }: Caller): Promise<store.EntityRow> {
    if (entityId === null) {
      throw new Refusal('not_found', 'nobody_named', 'The request names no person.', {
        hint: 'Send a public key as Troupe-Key, together with the token of a person.',
      });
    }
    return this.#find(project, entityId);
  }

  async update(
    { project }: Caller,
    id: string,
    changes: BodyOf<typeof entityEndpoints.update>,
  ): Promise<store.EntityRow> {
    const { type } = await this.#find(project, id);
    if (type === 'agent' && changes.displayName !== undefined) throw ofAgent();
    await store.updateEntity(this.#db, project, id, changes);
    return this.#find(project, id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    const refused = await this.#db.rows.transaction().execute(async (rows) => {
      const why = await store.deletePerson(rows, caller.project, id);
      if (why === null) await audit(rows, caller, 'entity.deleted', id);
      return why;
    });
    if (refused === 'not_found') throw notFound('entity');
    if (refused === 'entity_of_agent') throw ofAgent();
    if (refused === 'entity_in_use') {
      throw new Refusal('conflict', 'entity_in_use', 'The person has said something or owns something.', {
        hint: 'Remove them from their spaces and delete their sessions, memories and goals. Whoever has said something in a space that is still there stays.',
      });
    }
    this.#deleted();
  }

  async #find(project: string, id: string): Promise<store.EntityRow> {
    const found = await store.findEntity(this.#db, project, id);
    if (!found) throw notFound('entity');
    return found;
  }
}

function ofAgent(): Refusal {
  return new Refusal('conflict', 'entity_of_agent', 'The entity speaks for an agent.', {
    hint: 'Change the agent: PATCH /v1/agents/{agentId}, or archive it.',
  });
}
