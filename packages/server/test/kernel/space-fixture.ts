import type { Json } from '@troupe/protocol';
import { type Door, newId, type WorkOptions } from '@troupe/server';
import { plainDoor } from '@troupe/testing';
import { HANDED_OVER, type ToolContext } from '../../src/kernel/ports.ts';
import { ScriptedFixture } from './fixture.ts';

/** The plain door under the name by which the database recognizes runs of spaces. */
export const spaceDoor: Door = { ...plainDoor, name: 'space' };

export interface TestSpace {
  space: string;
  person: string;
}

/** A kernel whose runs belong to spaces; messages are posted by SQL function. */
export class SpaceRunFixture {
  readonly fixture: ScriptedFixture;

  private constructor(fixture: ScriptedFixture) {
    this.fixture = fixture;
  }

  static async open(postgresUrl: string, work: Partial<WorkOptions> = {}): Promise<SpaceRunFixture> {
    const opened = new SpaceRunFixture(
      await ScriptedFixture.open(postgresUrl, { doors: [spaceDoor], ...work }),
    );
    opened.fixture.tools.say = (args, context) => opened.say(args, context);
    return opened;
  }

  async #query(text: string, values: unknown[]): Promise<void> {
    await this.fixture.db.pool.query(text, values);
  }

  /** A space of the agent and a person. */
  async space(space = newId()): Promise<TestSpace> {
    const { project } = this.fixture.ids;
    await this.#query(`insert into troupe.threads (id, project_id, kind) values ($1, $2, 'space')`, [
      space,
      project,
    ]);
    await this.#query('insert into troupe.spaces (id, project_id, name) values ($1, $2, $3)', [
      space,
      project,
      'space',
    ]);
    await this.join(space, this.fixture.ids.entity);
    return { space, person: await this.person(space) };
  }

  async person(space: string): Promise<string> {
    const person = newId();
    await this.#query(
      `insert into troupe.entities (id, project_id, type, display_name) values ($1, $2, 'human', 'Anna')`,
      [person, this.fixture.ids.project],
    );
    await this.join(space, person);
    return person;
  }

  async join(space: string, entity: string): Promise<void> {
    await this.#query(
      'insert into troupe.memberships (space_id, entity_id, joined_seq, last_processed_seq) values ($1, $2, 0, 0)',
      [space, entity],
    );
  }

  async post(item: Record<string, Json>): Promise<Record<string, Json>> {
    const { rows } = await this.fixture.db.pool.query('select troupe.post_to_space($1) as answer', [
      { project: this.fixture.ids.project, mentions: [], agents: [], ...item },
    ]);
    return rows[0].answer;
  }

  /** A person says something; with a snapshot, it starts a run of the agent. */
  async ask({ space, person }: TestSpace, snapshot: string | null): Promise<{ run: string; thread: string }> {
    const { agent, entity } = this.fixture.ids;
    const posted = await this.post({
      space,
      message: { id: newId(), role: 'user', content: { text: 'Hello.' }, sender: person, metadata: {} },
      starts: snapshot !== null,
      agents: snapshot ? [{ entity, agent, snapshot, wallMs: 3_600_000 }] : [],
    });
    const run = ((posted.runs as Json[] | undefined)?.[0] ?? {}) as { id: string; thread: string };
    this.fixture.kernel.worker?.wake();
    return { run: run.id, thread: run.thread };
  }

  /** The tool of the agent: says something where its run is, and may wait for a reply. */
  async say(args: Json, context: ToolContext) {
    const { text, wait } = args as { text: string; wait?: { for: string[] | null; timeoutMs: number } };
    const { runId: run, epoch, worker, callId, step, entityId } = context;
    const row = await this.fixture.row(run);
    const posted = await this.post({
      space: row.active_space_id!,
      message: { id: newId(), role: 'assistant', content: { text }, sender: entityId, metadata: {} },
      by: { run, epoch, worker, call: callId, step },
      starts: false,
      ...(wait ? { wait: { ...wait } } : {}),
    });
    if (!posted.ok) throw new Error(String(posted.code));
    return wait ? HANDED_OVER : { success: true };
  }

  close(): Promise<void> {
    return this.fixture.close();
  }
}
