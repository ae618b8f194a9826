import type { AgentSnapshotInput, Json } from '@troupe/protocol';
import {
  createModels,
  createScripted,
  Database,
  type Ended,
  Kernel,
  type KernelOptions,
  type Probe,
  type Script,
  silentLogger,
  type ToolExecute,
  type Tools,
  type WorkOptions,
} from '@troupe/server';
import { createDatabase } from './databases.ts';
import { plainDoor } from './door.ts';
import { buildCast, buildSnapshot, buildStart, type Cast } from './factories.ts';

export interface StageOptions {
  postgresUrl: string;
  /** The model's answers; default: whatever the message carries after `script:`. */
  script?: Script;
  tools?: Record<string, ToolExecute>;
  /** False: no worker in this process. */
  work?: boolean | Partial<WorkOptions>;
  kernel?: Partial<KernelOptions>;
  probe?: Probe;
  onStatement?: (name: string) => void;
}

/** A whole Troupe without HTTP in this process: a fresh database, one agent, a worker. */
export class Stage {
  readonly url: string;
  readonly db: Database;
  readonly kernel: Kernel;
  readonly cast: Cast;
  readonly scripted: ReturnType<typeof createScripted>;
  readonly #drop: () => Promise<void>;

  private constructor(
    url: string,
    db: Database,
    kernel: Kernel,
    cast: Cast,
    scripted: ReturnType<typeof createScripted>,
    drop: () => Promise<void>,
  ) {
    this.url = url;
    this.db = db;
    this.kernel = kernel;
    this.cast = cast;
    this.scripted = scripted;
    this.#drop = drop;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const database = await createDatabase(options.postgresUrl);
    const db = new Database({
      url: database.url,
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
    const cast = await buildCast(db);
    if (options.work !== false) {
      await kernel.work({
        doors: [plainDoor],
        models: createModels({ scripted: scripted.provider }),
        tools: codeTools(options.tools ?? {}),
        ...(typeof options.work === 'object' ? options.work : {}),
      });
    }
    return new Stage(database.url, db, kernel, cast, scripted, database.drop);
  }

  snapshot(input: Partial<AgentSnapshotInput> = {}): Promise<string> {
    return buildSnapshot(this.db, this.cast, input);
  }

  /** Starts a run and waits for its end. */
  async play(
    snapshot: string,
    text = 'go',
    options: Parameters<typeof buildStart>[3] = {},
  ): Promise<{ run: string; thread: string } & Ended> {
    const item = buildStart(this.cast, snapshot, text, options);
    const started = await this.kernel.start(item);
    if (!started.ok) throw new Error(started.code);
    const ended = await this.kernel.ended(item.run.id, { timeoutMs: 30_000 });
    return { run: item.run.id, thread: item.thread, ...ended };
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

  async close(): Promise<void> {
    await this.kernel.close();
    await this.db.close();
    await this.#drop();
  }
}

/** Tools that are functions in this process, by name. */
export function codeTools(functions: Record<string, ToolExecute>): Tools {
  return { resolve: (tool) => (Object.hasOwn(functions, tool.name) ? functions[tool.name] : undefined) };
}
