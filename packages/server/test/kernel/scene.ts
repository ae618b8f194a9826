import type { AgentSnapshotInput, Json } from '@troupe/protocol';
import {
  createModels,
  createScripted,
  type Model,
  newId,
  type Script,
  type Scripted,
  type ToolExecute,
  type WorkOptions,
} from '@troupe/server';
import { buildStart, codeTools, Stage, until, violations } from '@troupe/testing';
import { expect } from 'vitest';

type Input = Partial<Omit<AgentSnapshotInput, 'models'>> & { models?: string[] };
type StartOptions = NonNullable<Parameters<typeof buildStart>[3]>;

/** A stage that the tests of a file share: every test brings its own agent, script and tools. */
export class Scene {
  readonly stage: Stage;
  readonly tools: Record<string, ToolExecute>;
  readonly scripted: Scripted;
  /** Models of other kinds, by name; a snapshot names them `other:name`. */
  readonly others: Record<string, Model>;
  /** Statements that the kernel has sent, by name. */
  readonly statements: string[];
  /** Awaited before a run is written as waiting; for tests that come between. */
  atPark: (() => Promise<void>) | undefined;

  private constructor(scene: Pick<Scene, 'stage' | 'tools' | 'scripted' | 'others' | 'statements'>) {
    this.stage = scene.stage;
    this.tools = scene.tools;
    this.scripted = scene.scripted;
    this.others = scene.others;
    this.statements = scene.statements;
  }

  static async open(postgresUrl: string, work: Partial<WorkOptions> = {}): Promise<Scene> {
    const tools: Record<string, ToolExecute> = {};
    const others: Record<string, Model> = {};
    const statements: string[] = [];
    const scripted = createScripted();
    const opened: { scene?: Scene } = {};
    const stage = await Stage.open({
      postgresUrl,
      probe: async (boundary, when) => {
        if (boundary === 'park' && when === 'before') await opened.scene?.atPark?.();
      },
      onStatement: (name) => statements.push(name),
      work: {
        models: createModels({ scripted: scripted.provider, other: (name) => others[name]! }),
        tools: codeTools(tools),
        ...work,
      },
    });
    opened.scene = new Scene({ stage, tools, scripted, others, statements });
    return opened.scene;
  }

  get kernel() {
    return this.stage.kernel;
  }

  /** A snapshot of an agent that plays the script; more models of the list are further scripts or `other:name`. */
  async agent(script: Script, { models, ...input }: Input = {}): Promise<string> {
    const name = `script ${newId()}`;
    this.scripted.add(name, script);
    return this.stage.snapshot({
      models: [name, ...(models ?? [])].map((model) => this.model(model)),
      ...input,
    });
  }

  model(name: string): { provider: string; model: string } {
    return name.startsWith('other:')
      ? { provider: 'other', model: name.slice(6) }
      : { provider: 'scripted', model: name };
  }

  /** Starts a run and does not wait for it. */
  async start(snapshot: string, options: StartOptions & { text?: string } = {}) {
    const item = buildStart(this.stage.cast, snapshot, options.text ?? 'go', options);
    const started = await this.kernel.start(item);
    if (!started.ok) throw new Error(started.code);
    return { run: item.run.id, thread: item.thread, message: item.message.id };
  }

  play(snapshot: string, options: StartOptions & { text?: string } = {}) {
    return this.stage.play(snapshot, options.text ?? 'go', options);
  }

  ended(run: string) {
    return this.kernel.ended(run, { timeoutMs: 15_000 });
  }

  async becomes(run: string, status: string): Promise<void> {
    await until(`run ${status}`, async () => (await this.stage.row(run)).status === status);
  }

  /** Starts a run and waits until it waits for somebody. */
  async startWaiting(snapshot: string, options: StartOptions = {}) {
    const started = await this.start(snapshot, options);
    await this.becomes(started.run, 'waiting_tool');
    return started;
  }

  /** What the model of a run was shown, request by request. */
  requests(run: string) {
    return this.scripted.requests.filter((request) => request.runId === run);
  }

  /** The results that a run's model was shown last, by call id. */
  shown(run: string): Record<string, Json> {
    const last = this.requests(run).at(-1)!;
    return Object.fromEntries(
      last.messages.flatMap((message) => (message.role === 'tool' ? [[message.callId, message.output]] : [])),
    );
  }

  async types(thread: string): Promise<string[]> {
    return (await this.stage.events(thread)).map((event) => event.type);
  }

  async sound(): Promise<void> {
    expect(await violations(this.stage.db.pool)).toEqual([]);
  }

  close(): Promise<void> {
    return this.stage.close();
  }
}

/** A promise and the two ways to end it: for tests that decide when something goes on. */
export function gate<Value = void>() {
  return Promise.withResolvers<Value>();
}

/** A call's id is its name here, so that tests can speak of it. */
export const call = (name: string, args: Json = {}, id = name) => ({ id, name, arguments: args });

export const codeTool = (name: string, more: object = {}) => ({ name, provider: 'code', ...more });
export const clientTool = (name: string, more: object = {}) => ({
  name,
  provider: 'client',
  waitsFor: 'client' as const,
  ...more,
});
