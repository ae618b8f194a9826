import assert from 'node:assert/strict';
import type { AgentSnapshotInput, Json } from '@troupe/protocol';
import {
  createModels,
  Database,
  type Ended,
  Kernel,
  type KernelOptions,
  newId,
  type Probe,
  silentLogger,
  type ToolExecute,
  type Tools,
  type WorkOptions,
} from '@troupe/server';
import { createScripted, type Script, type Scripted } from '@troupe/server/parts';
import { createDatabase } from './databases.ts';
import { plainDoor } from './door.ts';
import { type AgentIds, buildProject, buildSnapshot, buildStart } from './factories.ts';
import { violations } from './invariants.ts';

export interface KernelFixtureOptions {
  postgresUrl: string;
  /** The model's answers; default: the text of the message after `script:`. */
  script?: Script;
  tools?: Record<string, ToolExecute>;
  /** False: no worker in this process. */
  work?: boolean | Partial<WorkOptions>;
  kernel?: Partial<KernelOptions>;
  probe?: Probe;
  onStatement?: (name: string) => void;
}

export interface KernelParts {
  databaseUrl: string;
  db: Database;
  kernel: Kernel;
  ids: AgentIds;
  scripted: Scripted;
  drop(): Promise<void>;
}

export type StartOptions = NonNullable<Parameters<typeof buildStart>[3]> & { text?: string };

/** A kernel without HTTP in this process: a fresh database, one agent, a worker. Fixtures of single folders extend it. */
export class KernelFixture {
  readonly databaseUrl: string;
  readonly db: Database;
  readonly kernel: Kernel;
  readonly ids: AgentIds;
  readonly scripted: Scripted;
  readonly #drop: () => Promise<void>;

  constructor(parts: KernelParts) {
    this.databaseUrl = parts.databaseUrl;
    this.db = parts.db;
    this.kernel = parts.kernel;
    this.ids = parts.ids;
    this.scripted = parts.scripted;
    this.#drop = parts.drop;
  }

  snapshot(input: Partial<AgentSnapshotInput> = {}): Promise<string> {
    return buildSnapshot(this.db, this.ids, input);
  }

  /** A snapshot of an agent whose model plays the script. */
  scriptedAgent(script: Script, input: Partial<AgentSnapshotInput> = {}): Promise<string> {
    return this.snapshot({ models: [{ provider: 'scripted', model: this.addScript(script) }], ...input });
  }

  /** Adds a model that plays the script, and returns its name. */
  addScript(script: Script): string {
    const name = `script ${newId()}`;
    this.scripted.add(name, script);
    return name;
  }

  /** Starts a run and does not wait for it. */
  async start(snapshot: string, { text = 'go', ...options }: StartOptions = {}) {
    const item = buildStart(this.ids, snapshot, text, options);
    const started = await this.kernel.start(item);
    if (!started.ok) throw new Error(started.code);
    return { run: item.run.id, thread: item.thread, message: item.message.id };
  }

  /** Starts a run and waits for its end. */
  async play(snapshot: string, options: StartOptions = {}): Promise<{ run: string; thread: string } & Ended> {
    const { run, thread } = await this.start(snapshot, options);
    return { run, thread, ...(await this.kernel.ended(run)) };
  }

  async row(run: string): Promise<Record<string, Json>> {
    const { rows } = await this.db.pool.query<{ row: Record<string, Json> }>(
      'select to_jsonb(r) as row from troupe.runs r where id = $1',
      [run],
    );
    return rows[0]!.row;
  }

  async calls(run: string): Promise<Record<string, Json>[]> {
    const { rows } = await this.db.pool.query<{ row: Record<string, Json> }>(
      'select to_jsonb(c) as row from troupe.tool_calls c where run_id = $1 order by step, position',
      [run],
    );
    return rows.map((row) => row.row);
  }

  async events(
    thread: string,
  ): Promise<{ seq: number; type: string; step: number | null; data: Record<string, Json> | null }[]> {
    const { rows } = await this.db.pool.query(
      'select seq, type, step, data from troupe.events where thread_id = $1 order by seq',
      [thread],
    );
    return rows;
  }

  async messages(thread: string): Promise<
    {
      seq: number;
      role: string;
      content: Record<string, Json>;
      tool_call_id: string | null;
      step: number | null;
    }[]
  > {
    const { rows } = await this.db.pool.query(
      'select seq, role, content, tool_call_id, step from troupe.messages where thread_id = $1 order by seq',
      [thread],
    );
    return rows;
  }

  /** Fails if the database violates an invariant. */
  async checkInvariants(): Promise<void> {
    assert.deepEqual(await violations(this.db.pool), []);
  }

  async close(): Promise<void> {
    await this.kernel.close();
    await this.db.close();
    await this.#drop();
  }
}

export async function openKernel(options: KernelFixtureOptions): Promise<KernelFixture> {
  return new KernelFixture(await openKernelParts(options));
}

export async function openKernelParts(options: KernelFixtureOptions): Promise<KernelParts> {
  const { url: databaseUrl, drop } = await createDatabase(options.postgresUrl);
  const db = new Database({
    url: databaseUrl,
    applicationName: 'troupe/test',
    logger: silentLogger,
    ...(options.onStatement ? { onStatement: options.onStatement } : {}),
  });
  const kernel = new Kernel({
    db,
    logger: silentLogger,
    ...(options.probe ? { probe: options.probe } : {}),
    ...options.kernel,
  });
  const scripted = options.script ? createScripted(options.script) : createScripted();
  const ids = await buildProject(db);
  if (options.work !== false) {
    await kernel.work({
      doors: [plainDoor],
      models: createModels({ scripted: scripted.provider }),
      tools: codeTools(options.tools ?? {}),
      ...(typeof options.work === 'object' ? options.work : {}),
    });
  }
  return { databaseUrl, db, kernel, ids, scripted, drop };
}

/** Tools that are functions in this process, by name. */
export function codeTools(functions: Record<string, ToolExecute>): Tools {
  return { resolve: (tool) => (Object.hasOwn(functions, tool.name) ? functions[tool.name] : undefined) };
}
