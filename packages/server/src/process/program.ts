import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Encryption } from '../access/index.ts';
import { type Logger, StartupError } from '../base/index.ts';
import type { Config } from '../config/index.ts';
import type { McpPort } from '../definitions/mcp-servers/index.ts';
import { currentOf } from '../doors/tasks/index.ts';
import {
  createApp,
  createWorkerApp,
  type HttpServer,
  listen,
  type Observed,
  type Services,
} from '../http/index.ts';
import { type CronEntry, Jobs, migrateJobs, type Task } from '../jobs/index.ts';
import { type Door, Kernel, type Models, Past, type Tools } from '../kernel/index.ts';
import type { Outgoing } from '../outgoing/index.ts';
import { Database, findShortage, migrate } from '../store/index.ts';
import { Stream } from '../stream/index.ts';
import { Followers } from '../sync/index.ts';
import type { CodeFunctions } from '../tools/index.ts';
import { openAccess } from './admission.ts';
import { batchTasks } from './batch-tasks.ts';
import { eraseTasks } from './erase-tasks.ts';
import { openEncryption } from './encryption-key.ts';
import { openEnvironmentModels } from './environment-models.ts';
import { openFirstAgents } from './first-agents.ts';
import type { Life } from './life.ts';
import { planTasks } from './plan-tasks.ts';
import type { ProviderRows } from './provider-rows.ts';
import { openTelemetry } from './telemetry.ts';
import { openTriggers } from './triggers.ts';
import { whenReachable } from './when-reachable.ts';

/** What main.ts composed: the same for every process. */
export interface Program {
  name: string;
  version: string;
  config: Config;
  logger: Logger;
  life: Life;
  /** A program reads our standard output. */
  json?: boolean;
  /** For `import`: the file of an export, and the name of the project if it is to have another. */
  importing?: { file: string; name?: string | undefined } | undefined;
  doors(db: Database, encryption: Encryption): Door[];
  models: Models;
  providers: ProviderRows;
  /** The one guarded client of the process; of use once there is a database. */
  outgoing: Outgoing;
  /** Origins at which this server answers, and the database, once they are known. */
  place: StartedParts;
  /** Those of the user, by their names. */
  functions: CodeFunctions;
  /** Made once there is a database. */
  tools(db: Database, encryption: Encryption, kernel: Kernel): Tools;
  mcp(db: Database, encryption: Encryption): McpPort;
  tasks: Record<string, Task>;
  crontab: CronEntry[];
}

/** What is known of a process only once it has started. */
export interface StartedParts {
  origins: string[];
  database: Database | null;
}

export interface DatabaseAddress {
  url: string;
  directUrl: string;
}

/** How long runs may go on after a stop; the kernel needs up to 3.5 s beyond it, and all of it has 10 s. */
const RUN_GRACE_MS = 5_500;
const JOB_GRACE_MS = 8_000;
const REQUEST_GRACE_MS = 2_000;
const CONNECTION_GRACE_MS = 500;

export function requireDatabase({ name, config }: Program): DatabaseAddress {
  if (config.databaseUrl === null || config.databaseDirectUrl === null) {
    throw new StartupError('database_missing', `\`${name}\` needs a database, and DATABASE_URL is not set.`, {
      hint: 'Set DATABASE_URL to a PostgreSQL, 15 or newer; or use `dev` (npm start), which brings its own.',
    });
  }
  return { url: config.databaseUrl, directUrl: config.databaseDirectUrl };
}

/** Listens from the first moment, so that health can be asked for while the rest still starts. */
export async function openHttp(
  program: Program,
  database: () => Database | null,
  services: () => Services | null,
): Promise<HttpServer> {
  const { logger, config } = program;
  const health = healthOf(program, database);
  const app = createApp({ logger, health, services, origins: config.origins, console: consoleFolder() });
  const server = await openListener(program, app, config.port);
  program.place.origins.push(...originsOf(server.url));
  return server;
}

/** Of the repository, where `npm run console` builds it; of a package, where it lies beside the program. */
function consoleFolder(): string | null {
  const places = ['../../../../apps/console/dist', '../console'].map((path) =>
    resolve(import.meta.dirname, path),
  );
  return places.find((folder) => existsSync(join(folder, 'index.html'))) ?? null;
}

/** The server's own, in all the ways in which this machine is named where it listens to no other. */
function originsOf(address: string): string[] {
  const { origin, protocol, hostname, port } = new URL(address);
  const names = ['localhost', '127.0.0.1', '[::1]'];
  return names.includes(hostname) ? names.map((name) => `${protocol}//${name}:${port}`) : [origin];
}

/** A process that only works answers for its health and its metrics, where it was told a port for that. */
export async function openWorkerHttp(
  program: Program,
  observed: () => Observed | null,
): Promise<HttpServer | null> {
  const { logger, config } = program;
  if (config.metricsPort === null) return null;
  const health = healthOf(program, () => observed()?.db ?? null);
  return openListener(program, createWorkerApp({ logger, health, observed }), config.metricsPort);
}

function healthOf({ version, life }: Program, database: () => Database | null) {
  const checkDatabase = async () => {
    const db = database();
    if (!db) throw new Error('not connected yet');
    return findShortage(db);
  };
  return { version, phase: () => life.phase, checkDatabase };
}

function openListener(
  { life, config }: Program,
  app: ReturnType<typeof createApp>,
  port: number,
): Promise<HttpServer> {
  return life.open(
    'http',
    () => listen(app, { host: config.host, port }),
    (server, withinMs) => server.close(Math.min(withinMs, REQUEST_GRACE_MS)),
  );
}

/** Migrates first, and sees that the first project is there, and what each has from the start. Any number of processes may do so at once. */
export async function openDatabase(program: Program, address: DatabaseAddress): Promise<Database> {
  await migrateAll(program, address);
  const db = await connectDatabase(program, address);
  await whenReachable(program, () => openFirstAgents(program, db));
  return db;
}

/** The database as it is. */
export async function connectDatabase(program: Program, address: DatabaseAddress): Promise<Database> {
  const { life, logger, name, place } = program;
  const db = await life.open(
    'database',
    async () => {
      place.database = new Database({ ...address, applicationName: `troupe/${name}`, logger });
      return place.database;
    },
    (db) =>
      Promise.race([db.close(), new Promise<void>((done) => setTimeout(done, CONNECTION_GRACE_MS).unref())]),
  );
  await whenReachable(program, () => db.checkPooler());
  return db;
}

export async function migrateAll(program: Program, { directUrl }: DatabaseAddress): Promise<string[]> {
  const { life, logger } = program;
  const migrating = async () => {
    const applied = await migrate(directUrl);
    await migrateJobs(directUrl, logger);
    if (applied.length > 0) logger.info({ applied }, 'migrated the database');
    return applied;
  };
  return whenReachable(program, () => life.open('work', migrating, async () => {}));
}

/** For a process that starts runs and hears of them, but works on none. */
export async function openKernel({ life, logger }: Program, db: Database): Promise<Kernel> {
  const opening = async () => {
    const kernel = new Kernel({ db, logger, current: currentOf(db) });
    await kernel.listen();
    return kernel;
  };
  return life.open('work', opening, (kernel) => kernel.close());
}

/** What the routes act through, once there is a database and a kernel. */
export async function openServices(program: Program, db: Database, kernel: Kernel): Promise<Services> {
  const { openai, anthropic } = program.config.modelKeys;
  const access = await openAccess(program, db, openEncryption(program.name, program.config));
  const stream = await openStream(program, db, kernel);
  return {
    server: { version: program.version, mode: program.name === 'dev' ? 'dev' : 'serve' },
    past: new Past(db, program.doors(db, access.encryption)),
    db,
    kernel,
    access,
    stream,
    followers: await openFollowers(program, db, stream),
    tools: program.tools(db, access.encryption, kernel),
    mcp: program.mcp(db, access.encryption),
    sealer: access.encryption,
    environmentKeys: { openai: openai !== null, anthropic: anthropic !== null },
    environmentProject: await openEnvironmentModels(program, db),
  };
}

/** Tells readers, here and in other processes, what is written. A process that only works needs it too. */
export async function openStream({ life, logger }: Program, db: Database, kernel: Kernel): Promise<Stream> {
  return life.open(
    'stream',
    async () => new Stream({ db, logger, line: kernel }),
    (stream) => stream.close(),
  );
}

/** Tells clients that keep copies what changes in them. */
function openFollowers({ life, logger }: Program, db: Database, stream: Stream): Promise<Followers> {
  return life.open(
    'stream',
    async () => new Followers({ db, logger, hear: (listener, isWanted) => stream.hear(listener, isWanted) }),
    (followers) => followers.close(),
  );
}

/** A kernel that takes runs, and jobs beside it. */
export async function openWork(program: Program, db: Database): Promise<Kernel> {
  const { life, logger, config, doors, models, tools, tasks, crontab } = program;
  const encryption = openEncryption(program.name, config);
  program.providers.open(db, encryption);
  const telemetry = await openTelemetry(program, db);
  const working = new Kernel({ db, logger, current: currentOf(db) });
  const openingKernel = async () => {
    await working.work({
      doors: doors(db, encryption),
      models,
      tools: tools(db, encryption, working),
      capacity: config.concurrency,
      graceMs: RUN_GRACE_MS,
      telemetry,
    });
    return working;
  };
  const openingJobs = async () => {
    const own = { ...planTasks(working), ...batchTasks(working, encryption), ...eraseTasks(working) };
    const jobs = new Jobs({ db, logger, tasks: { ...tasks, ...own }, crontab });
    await jobs.start();
    return jobs;
  };
  const [kernel] = await Promise.all([
    life.open('work', openingKernel, (opened) => opened.close()),
    life.open('work', openingJobs, (opened, withinMs) => opened.close(Math.min(withinMs, JOB_GRACE_MS))),
    openTriggers(program, db, encryption, working),
  ]);
  return kernel;
}
