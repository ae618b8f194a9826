import type { AgentSnapshotInput, Json } from '@troupe/protocol';
import { createModels, type Model, type ToolExecute, type WorkOptions } from '@troupe/server';
import { createScripted, type Script } from '@troupe/server/parts';
import {
  codeTools,
  KernelFixture,
  type KernelParts,
  openKernelParts,
  type StartOptions,
  until,
} from '@troupe/testing';

type Input = Partial<Omit<AgentSnapshotInput, 'models'>> & { models?: string[] };
type Shared = Pick<ScriptedFixture, 'tools' | 'others' | 'statements'>;

/** A kernel that the tests of a file share: every test brings its own agent, script and tools. */
export class ScriptedFixture extends KernelFixture {
  readonly tools: Record<string, ToolExecute>;
  /** Models of other kinds, by name; a snapshot names them `other:name`. */
  readonly others: Record<string, Model>;
  /** Statements that the kernel has sent, by name. */
  readonly statements: string[];
  /** Awaited before a run is written as waiting; for tests that act at that moment. */
  atPark: (() => Promise<void>) | undefined;

  private constructor(parts: KernelParts, { tools, others, statements }: Shared) {
    super(parts);
    this.tools = tools;
    this.others = others;
    this.statements = statements;
  }

  static async open(postgresUrl: string, work: Partial<WorkOptions> = {}): Promise<ScriptedFixture> {
    const shared: Shared = { tools: {}, others: {}, statements: [] };
    const scripted = createScripted();
    const opened: { fixture?: ScriptedFixture } = {};
    const parts = await openKernelParts({
      postgresUrl,
      probe: async (boundary, when) => {
        if (boundary === 'park' && when === 'before') await opened.fixture?.atPark?.();
      },
      onStatement: (name) => shared.statements.push(name),
      work: {
        models: createModels({ scripted: scripted.provider, other: (name) => shared.others[name]! }),
        tools: codeTools(shared.tools),
        ...work,
      },
    });
    opened.fixture = new ScriptedFixture({ ...parts, scripted }, shared);
    return opened.fixture;
  }

  /** A snapshot of an agent that plays the script; more models of the list are further scripts or `other:name`. */
  async agent(script: Script, { models = [], ...input }: Input = {}): Promise<string> {
    const all = [this.addScript(script), ...models];
    return this.snapshot({ models: all.map((model) => this.model(model)), ...input });
  }

  model(name: string): { provider: string; model: string } {
    return name.startsWith('other:')
      ? { provider: 'other', model: name.slice(6) }
      : { provider: 'scripted', model: name };
  }

  ended(run: string) {
    return this.kernel.ended(run);
  }

  async becomes(run: string, status: string): Promise<void> {
    await until(`run ${status}`, async () => (await this.row(run)).status === status);
  }

  /** Starts a run and waits until it waits for a tool. */
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
    return (await this.events(thread)).map((event) => event.type);
  }
}

/** A promise with its `resolve` and `reject`: for tests that decide when something continues. */
export function gate<Value = void>() {
  return Promise.withResolvers<Value>();
}

/** A call's id is its name here, so that tests can refer to it. */
export const call = (name: string, args: Json = {}, id = name) => ({ id, name, arguments: args });

export const codeTool = (name: string, more: object = {}) => ({ name, provider: 'code', ...more });
export const clientTool = (name: string, more: object = {}) => ({
  name,
  provider: 'client',
  waitsFor: 'client' as const,
  ...more,
});
