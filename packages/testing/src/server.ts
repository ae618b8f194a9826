import { randomBytes } from 'node:crypto';
import {
  Database,
  type Door,
  Kernel,
  type Logger,
  type Models,
  type Probe,
  silentLogger,
  type Telemetry,
} from '@troupe/server';
import {
  Access,
  batchTasks,
  bringFirstAgents,
  type CodeTool,
  codeFunctions,
  createApp,
  createDemo,
  createNetworksDoor,
  createProviders,
  createScripted,
  createSessionsDoor,
  createSpacesDoor,
  createTasksDoor,
  createTools,
  currentOf,
  Encryption,
  Engine,
  type EngineOptions,
  engineParts,
  eraseTasks,
  Followers,
  Jobs,
  listen,
  McpConnections,
  mcpServers,
  oneCall,
  openOutgoing,
  Past,
  ProviderRows,
  planTasks,
  programsOf,
  type Script,
  type Scripted,
  Stream,
  secretsOf,
  toolParts,
} from '@troupe/server/parts';
import { createDatabase } from './databases.ts';

export interface ServerOptions {
  postgresUrl: string;
  /** What every agent's model answers; default: the demo model. */
  script?: Script;
  /** `open`, the default: no key is needed, as with `dev` on this machine. */
  mode?: 'open' | 'closed';
  /** Instead of one model for all. */
  models?: (db: Database) => Models;
  heartbeatMs?: number;
  /** How long an open transaction may hold up those who follow before it is told of. */
  stallMs?: number;
  metricsToken?: string;
  /** What the first project may reach beyond the internet; other projects have their own lists. */
  allow?: string[];
  /** Programs that may be started as MCP servers. */
  mcpCommands?: string[];
  /** How long these may take to be connected to. */
  mcpPatienceMs?: number;
  /** Jobs too are carried out: plans that are due, and batches. */
  jobs?: boolean;
  /** Beside sessions; default: spaces and networks. */
  doors?: Door[];
  logger?: Logger;
  /** False: as `serve`, for workers in processes of their own. */
  works?: boolean;
  /** For workers elsewhere that open what is sealed here. */
  encryptionKey?: Buffer;
  /** Functions that the worker has, as a module declares them. */
  code?: CodeTool[];
  /** Instead of a fresh one: that of another server, which drops it. */
  databaseUrl?: string;
  probe?: Probe;
  telemetry?: (db: Database) => Telemetry;
  /** Changes are judged and deliveries made, with what is given instead of what a process has. */
  triggers?: boolean | Partial<EngineOptions>;
  /** The folder of the built console, to be served with it. */
  console?: string;
}

export type TestServer = Awaited<ReturnType<typeof openServer>>;

/** What `dev` starts, in this process and on a fresh database: HTTP, access, streams and a worker. */
export async function openServer({
  postgresUrl,
  script,
  models: makeModels,
  mode = 'open',
  heartbeatMs,
  stallMs,
  metricsToken,
  allow = [],
  mcpCommands = [],
  mcpPatienceMs: patienceMs = 10_000,
  jobs: withJobs = false,
  doors,
  logger = silentLogger,
  works = true,
  encryptionKey = randomBytes(32),
  code = [],
  databaseUrl,
  probe,
  telemetry,
  triggers = false,
  console,
}: ServerOptions) {
  const database = databaseUrl
    ? { url: databaseUrl, drop: async () => {} }
    : await createDatabase(postgresUrl);
  const db = new Database({ url: database.url, applicationName: 'troupe/test', logger });
  const kernel = new Kernel({ db, logger, current: currentOf(db), ...(probe ? { probe } : {}) });
  const scripted: Scripted = script ? createScripted(script) : createScripted();
  const demo = createDemo();
  const encryption = new Encryption([{ id: 'v1', key: encryptionKey }]);
  const own: string[] = [];
  const outgoing = openOutgoing(() => db, { allow, own: () => own });
  const providers = new ProviderRows();
  providers.open(db, encryption);
  const named = { demo: script ? scripted.provider : () => demo, one_call: oneCall };
  const models = makeModels?.(db) ?? createProviders(providers, { named, fetchFor: outgoing.fetchFor });
  const { PATH = '', HOME = '' } = process.env;
  const mcp = new McpConnections({
    outgoing,
    commands: programsOf(() => db, mcpCommands),
    environment: { PATH, HOME },
    patienceMs,
  });
  const tools = createTools({
    ...toolParts(db, encryption, { kernel, outgoing, mcp }),
    code: codeFunctions([{ from: 'test', tools: code }]),
  });
  const others = doors ?? [createSpacesDoor(db), createNetworksDoor(db, encryption), createTasksDoor(db)];
  const work = { models, tools, graceMs: 500, telemetry: telemetry?.(db) };
  const all = [createSessionsDoor(db), ...others];
  if (works) await kernel.work({ doors: all, ...work });
  else await kernel.listen();
  const tasks = { ...planTasks(kernel), ...batchTasks(kernel, encryption), ...eraseTasks(kernel) };
  const jobs = withJobs ? new Jobs({ db, logger, tasks, crontab: [] }) : null;
  await jobs?.start();
  const furnish = bringFirstAgents;
  const access = new Access({
    db,
    mode,
    encryption,
    outgoing,
    furnish,
    ...(metricsToken ? { metricsToken } : {}),
  });
  const stream = new Stream({
    db,
    logger,
    line: kernel,
    ...(heartbeatMs ? { heartbeatMs } : {}),
  });
  const followers = new Followers({
    db,
    logger,
    hear: (listener, isWanted) => stream.hear(listener, isWanted),
    ...(stallMs ? { stallMs } : {}),
  });
  const services = {
    server: { version: '0', mode: 'dev' as const },
    past: new Past(db, all),
    db,
    kernel,
    access,
    stream,
    followers,
    sealer: access.encryption,
    environmentKeys: {},
    tools,
    mcp: mcpServers({ secrets: secretsOf(db, encryption), mcp }),
  };
  const app = createApp({
    logger,
    health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
    services: () => services,
    ...(console ? { console } : {}),
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  own.push(server.url);
  const parts = engineParts(db, encryption, { outgoing, origins: () => own, kernel: works ? kernel : null });
  const engine = triggers
    ? new Engine({ ...parts, logger, pollMs: 50, ...(triggers === true ? {} : triggers) })
    : null;
  engine?.start();
  const close = async () => {
    await engine?.close(500);
    await followers.close();
    await stream.close();
    await server.close(500);
    await jobs?.close(1_000);
    await kernel.close();
    await mcp.close();
    await db.close();
    await database.drop();
  };
  return {
    url: server.url,
    databaseUrl: database.url,
    db,
    kernel,
    access,
    stream,
    followers,
    scripted,
    close,
  };
}
