import { agentSnapshot, type Json } from '@troupe/protocol';
import {
  createModels,
  Database,
  type Door,
  Kernel,
  type NewRun,
  saveSnapshot,
  silentLogger,
  type ToolExecute,
} from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import {
  type AgentIds,
  buildProject,
  buildStart,
  codeTools,
  createDatabase,
  plainDoor,
  violations,
} from '@troupe/testing';
import pg from 'pg';
import { expect } from 'vitest';

/** Several workers on one database, each with connections of its own, as separate processes would have. */
export class FaultFixture {
  readonly url: string;
  readonly kernels: Kernel[] = [];
  readonly databases: Database[] = [];
  readonly executions = new Map<string, number>();
  readonly seen = new Map<string, number>();
  ids!: AgentIds;
  snapshot!: string;
  #starters: Kernel[] = [];
  #drop: () => Promise<void>;
  #admin: pg.Pool;

  private constructor(url: string, adminUrl: string, drop: () => Promise<void>) {
    this.url = url;
    this.#drop = drop;
    this.#admin = new pg.Pool({ connectionString: adminUrl, max: 2 });
    this.#admin.on('error', () => {});
  }

  /** `via`: the address that the workers use instead of the database's own, for a proxy in between. */
  static async open(
    postgresUrl: string,
    options: {
      workers: number;
      apart?: boolean;
      via?: (url: string) => string;
      tool?: ToolExecute;
      door?: Door;
    },
  ): Promise<FaultFixture> {
    const database = await createDatabase(postgresUrl);
    const fixture = new FaultFixture(
      options.via?.(database.url) ?? database.url,
      database.url,
      database.drop,
    );
    const scripted = createScripted((request) =>
      request.step <= STEPS
        ? { calls: CALLS.map((n) => ({ name: 'pay', arguments: { n } })) }
        : { text: 'paid' },
    );
    const pay: ToolExecute = async (args, context) => {
      const key = `${context.runId} ${context.callId}`;
      fixture.executions.set(key, (fixture.executions.get(key) ?? 0) + 1);
      return (await options.tool?.(args, context)) ?? 'ok';
    };
    for (let n = 0; n < options.workers; n++) {
      const db = new Database({ url: fixture.url, applicationName: `worker${n}`, logger: silentLogger });
      fixture.databases.push(db);
      if (n === 0) {
        fixture.ids = await buildProject(db);
        const compiled = agentSnapshot.parse({
          kind: 'agent',
          name: 'payer',
          models: [{ provider: 'scripted', model: 'script' }],
          tools: [{ name: 'pay', provider: 'code', effect: 'once' }],
        });
        fixture.snapshot = await saveSnapshot(db, fixture.ids.project, compiled);
      }
      const kernel = new Kernel({ db, logger: silentLogger });
      await kernel.work({
        doors: [options.door ?? plainDoor],
        models: createModels({ scripted: scripted.provider }),
        tools: codeTools({ pay }),
        capacity: 40,
      });
      fixture.kernels.push(kernel);
    }
    fixture.#starters = fixture.kernels;
    if (options.apart) {
      const db = new Database({ url: fixture.url, applicationName: 'starter', logger: silentLogger });
      fixture.databases.push(db);
      fixture.#starters = [new Kernel({ db, logger: silentLogger })];
      await fixture.#starters[0]!.listen();
    }
    return fixture;
  }

  /** Starts a run, again and again until it is known to be stored: a caller whose request fails sends it again. */
  async start(run: Partial<NewRun> = {}): Promise<string> {
    const item = buildStart(this.ids, this.snapshot, 'go', { run });
    const kernel = this.#starters[Math.floor(Math.random() * this.#starters.length)]!;
    const started = await kernel.start(item);
    if (!started.ok) throw new Error(started.code);
    return item.run.id;
  }

  get admin(): pg.Pool {
    return this.#admin;
  }

  /** Everything finished, every call was made exactly once, nobody was taken for dead, and the rows are consistent. */
  async expectFlawless(runs: string[]): Promise<void> {
    const ends = await Promise.all(runs.map((run) => this.kernels[0]!.ended(run)));
    expect(new Set(ends.map((end) => end.status))).toEqual(new Set(['completed']));
    const count = async (text: string) => Number((await this.#admin.query<{ n: string }>(text)).rows[0]!.n);
    expect(await count(`select count(*) n from troupe.tool_calls where status = 'in_doubt'`)).toBe(0);
    expect(await count(`select count(*) n from troupe.tool_calls where status <> 'completed'`)).toBe(0);
    expect(await count(`select coalesce(max(takeovers), 0) n from troupe.runs`)).toBe(0);
    expect(this.executions.size).toBe(runs.length * STEPS * CALLS.length);
    expect([...this.executions.values()].every((times) => times === 1)).toBe(true);
    const { rows } = await this.#admin.query<{ roles: Json }>(
      `select distinct (select jsonb_agg(m.role order by m.seq) from troupe.messages m where m.thread_id = r.thread_id) roles from troupe.runs r`,
    );
    const step = ['tool_call', 'tool_call', 'tool_result', 'tool_result'];
    expect(rows.map((row) => row.roles)).toEqual([['user', ...step, ...step, 'assistant']]);
    expect(await violations(this.#admin)).toEqual([]);
  }

  async close(): Promise<void> {
    await Promise.all([...new Set([...this.kernels, ...this.#starters])].map((kernel) => kernel.close()));
    await Promise.all(this.databases.map((db) => db.close()));
    await this.#admin.end();
    await this.#drop();
  }
}

const STEPS = 2;
const CALLS = [1, 2];
