import {
  type BodyInputOf,
  type Collection,
  type Endpoint,
  endpoints,
  type sessionEndpoints,
} from '@troupe/protocol';
import { Batch } from './batch.ts';
import { type ChangesItem, type ChangesOptions, watchChanges } from './changes.ts';
import { followingOf } from './following.ts';
import { decisions } from './inbox.ts';
import { Network } from './network.ts';
import { type Replication, type ReplicationOptions, replicationOf } from './replication.ts';
import { Run } from './run.ts';
import { Session } from './session.ts';
import { Space } from './space.ts';
import { type InputOf, type RequestOptions, Transport, type TroupeOptions } from './transport.ts';

/** An endpoint as a function: what it needs, then options for this one request. */
type Callable<E extends Endpoint> =
  Partial<InputOf<E>> extends InputOf<E>
    ? (input?: InputOf<E>, options?: RequestOptions) => ReturnType<typeof Transport.prototype.call<E>>
    : (input: InputOf<E>, options?: RequestOptions) => ReturnType<typeof Transport.prototype.call<E>>;

type Group<Endpoints> = {
  [Name in keyof Endpoints]: Endpoints[Name] extends Endpoint ? Callable<Endpoints[Name]> : never;
};

function groupOf<Endpoints extends Record<string, Endpoint>>(
  transport: Transport,
  described: Endpoints,
): Group<Endpoints> {
  const group: Record<string, unknown> = {};
  for (const [name, endpoint] of Object.entries(described)) {
    group[name] = (input: object = {}, options?: RequestOptions) =>
      transport.call(endpoint, input as InputOf<Endpoint>, options);
  }
  return group as Group<Endpoints>;
}

/**
 * The client. Every endpoint of the contract is a function of its noun (`troupe.agents.create({ body })`), and a session,
 * a space, a network, a batch or a run can be held in the hand (`troupe.session(agentId, id)`, `troupe.space(id)`,
 * `troupe.network(name)`, `troupe.batch(id)`, `troupe.run(id)`).
 */
export class Troupe {
  readonly agents: Group<typeof endpoints.agents>;
  readonly access: Group<typeof endpoints.access>;
  readonly batches: Group<typeof endpoints.batches>;
  readonly capabilities: Group<typeof endpoints.capabilities>;
  readonly clients: Group<typeof endpoints.clients>;
  readonly entities: Group<typeof endpoints.entities>;
  readonly exports: Group<typeof endpoints.exports>;
  readonly files: Group<typeof endpoints.files>;
  readonly findings: Group<typeof endpoints.findings>;
  readonly goals: Group<typeof endpoints.goals>;
  readonly inbox: Group<typeof endpoints.inbox> & ReturnType<typeof decisions>;
  readonly mcpServers: Group<typeof endpoints.mcpServers>;
  readonly memories: Group<typeof endpoints.memories>;
  readonly models: Group<typeof endpoints.models>;
  readonly networks: Group<typeof endpoints.networks>;
  readonly plans: Group<typeof endpoints.plans>;
  readonly retention: Group<typeof endpoints.retention>;
  readonly runs: Group<typeof endpoints.runs>;
  readonly services: Group<typeof endpoints.services>;
  readonly sessions: Group<typeof endpoints.sessions>;
  readonly spaces: Group<typeof endpoints.spaces>;
  readonly subAgents: Group<typeof endpoints.subAgents>;
  readonly tasks: Group<typeof endpoints.tasks>;
  readonly sync: Group<typeof endpoints.sync>;
  readonly system: Group<typeof endpoints.system>;
  readonly todos: Group<typeof endpoints.todos>;
  readonly tools: Group<typeof endpoints.tools>;
  readonly triggers: Group<typeof endpoints.triggers>;
  readonly usage: Group<typeof endpoints.usage>;
  readonly #transport: Transport;

  constructor(options: TroupeOptions = {}) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.agents = groupOf(transport, endpoints.agents);
    this.access = groupOf(transport, endpoints.access);
    this.batches = groupOf(transport, endpoints.batches);
    this.capabilities = groupOf(transport, endpoints.capabilities);
    this.clients = groupOf(transport, endpoints.clients);
    this.entities = groupOf(transport, endpoints.entities);
    this.exports = groupOf(transport, endpoints.exports);
    this.files = groupOf(transport, endpoints.files);
    this.findings = groupOf(transport, endpoints.findings);
    this.goals = groupOf(transport, endpoints.goals);
    this.inbox = { ...groupOf(transport, endpoints.inbox), ...decisions(transport) };
    this.mcpServers = groupOf(transport, endpoints.mcpServers);
    this.memories = groupOf(transport, endpoints.memories);
    this.models = groupOf(transport, endpoints.models);
    this.networks = groupOf(transport, endpoints.networks);
    this.plans = groupOf(transport, endpoints.plans);
    this.retention = groupOf(transport, endpoints.retention);
    this.runs = groupOf(transport, endpoints.runs);
    this.services = groupOf(transport, endpoints.services);
    this.sessions = groupOf(transport, endpoints.sessions);
    this.spaces = groupOf(transport, endpoints.spaces);
    this.subAgents = groupOf(transport, endpoints.subAgents);
    this.tasks = groupOf(transport, endpoints.tasks);
    this.sync = groupOf(transport, endpoints.sync);
    this.system = groupOf(transport, endpoints.system);
    this.todos = groupOf(transport, endpoints.todos);
    this.tools = groupOf(transport, endpoints.tools);
    this.triggers = groupOf(transport, endpoints.triggers);
    this.usage = groupOf(transport, endpoints.usage);
  }

  /** The address of the server, without a slash at its end. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  session(agentId: string, sessionId: string): Session {
    return new Session(this.#transport, agentId, sessionId);
  }

  space(spaceId: string): Space {
    return new Space(this.#transport, spaceId);
  }

  /** By its id or its name. */
  network(ref: string): Network {
    return new Network(this.#transport, ref);
  }

  batch(batchId: string): Batch {
    return new Batch(this.#transport, batchId);
  }

  run(runId: string): Run {
    return new Run(this.#transport, runId);
  }

  /** The export of the project as a stream of lines. `exports.project` has all of it as one text. */
  async exportProject(): Promise<ReadableStream<Uint8Array>> {
    return (await this.#transport.send(endpoints.exports.project, {}, {})).body!;
  }

  /** Which lists have changed, for those that stay up to date: `for await (const item of troupe.changes({ signal }))`. */
  changes(options?: ChangesOptions): AsyncGenerator<ChangesItem> {
    return watchChanges(this.#transport, options);
  }

  /** What `replicateRxCollection` of RxDB takes, beside the collection. */
  replication<Of extends Collection>(collection: Of, options?: ReplicationOptions): Replication<Of> {
    return replicationOf(this.#transport, collection, options);
  }

  /**
   * Tells that something of these collections is new or another than before, or may be: for lists that are asked for again. All
   * who watch share one connection, which is made again by itself; `onDisconnect` hears when it was lost. Answers with what ends it.
   */
  watch(
    collections: readonly Collection[],
    listener: (collection: Collection) => void,
    onDisconnect?: () => void,
  ): () => void {
    const following = followingOf(this.#transport, {});
    const ends = collections.map((collection) =>
      following.follow({ collection, tell: () => listener(collection), onDisconnect }),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  /** Opens a new session with an agent. */
  async open(
    agentId: string,
    body: BodyInputOf<typeof sessionEndpoints.create> = {},
    options?: RequestOptions,
  ): Promise<Session> {
    const session = await this.sessions.create({ params: { agentId }, body }, options);
    return this.session(agentId, session.id);
  }

  /** All items of a list, page after page: `for await (const agent of troupe.all(troupe.agents.list))`. */
  async *all<Item>(
    list: (input: { query: { cursor?: string } }) => Promise<{ data: Item[]; nextCursor: string | null }>,
  ): AsyncGenerator<Item> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: { data: Item[]; nextCursor: string | null } = await list({
        query: cursor ? { cursor } : {},
      });
      yield* page.data;
      cursor = page.nextCursor;
    }
  }
}
