import { TroupeError } from '../../base/index.ts';
import type { Outgoing } from '../../outgoing/index.ts';
import type { Connection } from './connection.ts';
import { keyOf, type Target } from './target.ts';

export interface McpSettings {
  outgoing: Outgoing;
  /** Programs that a project may have started, as they are named in the definition of a server; without it, none. */
  commands?(project: string): Promise<readonly string[]>;
  /** Of the process, for programs: PATH, HOME, LANG. */
  environment?: Record<string, string>;
  /** For how long a connection is kept that nobody uses. */
  idleMs?: number;
  /** How long connecting, and listing the tools, may take. */
  patienceMs?: number;
}

const IDLE_MS = 60_000;
const PATIENCE_MS = 12_000;
const MOST_OPEN = 100;
/** So that no project takes the connections of all others. */
const MOST_OF_PROJECT = 50;

interface Entry {
  project: string;
  opening: Promise<Connection>;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/** The connections of a process to MCP servers: one for each project, server and secrets, shared by all calls. */
export class McpConnections {
  readonly #settings: McpSettings;
  readonly #entries = new Map<string, Entry>();
  /** Those that are being closed, and those that were opened for one look. */
  readonly #others = new Set<Promise<unknown>>();
  #closed = false;

  constructor(settings: McpSettings) {
    this.#settings = settings;
  }

  async allows(project: string, command: string): Promise<boolean> {
    return (await this.#settings.commands?.(project))?.includes(command) ?? false;
  }

  async use<Result>(
    project: string,
    target: Target,
    signal: AbortSignal,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const key = keyOf(project, target);
    const entry = this.#entries.get(key) ?? this.#open(key, project, target);
    entry.users++;
    clearTimeout(entry.idle);
    try {
      return await work(await unlessAborted(entry.opening, signal));
    } finally {
      entry.users--;
      if (entry.users === 0) this.#letRest(key, entry);
    }
  }

  /** A connection of its own, for one look. */
  async once<Result>(
    project: string,
    target: Target,
    signal: AbortSignal,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    if (this.#others.size >= MOST_OPEN) throw tooMany();
    const opening = this.#connect(project, target, () => {});
    const looking = opening.then(work);
    const done = looking
      .catch(() => {})
      .then(() => opening)
      .then((connection) => connection.close())
      .catch(() => {});
    this.#keepUntil(done);
    return unlessAborted(looking, signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const [key, entry] of this.#entries) this.#end(key, entry);
    await Promise.all(this.#others);
  }

  #open(key: string, project: string, target: Target): Entry {
    this.#makeRoom(project);
    const entry: Entry = { project, users: 0, idle: undefined, opening: undefined as never };
    const forget = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      clearTimeout(entry.idle);
    };
    entry.opening = this.#connect(project, target, forget);
    entry.opening.catch(forget);
    this.#entries.set(key, entry);
    return entry;
  }

  async #connect(project: string, target: Target, onClose: () => void): Promise<Connection> {
    if (this.#closed) throw new TroupeError('mcp_connection_lost', 'The process is stopping.');
    const { outgoing, environment = {}, patienceMs = PATIENCE_MS } = this.#settings;
    if (target.transport === 'stdio' && !(await this.allows(project, target.command)))
      throw notAllowed(target.command);
    // Only here: most processes never speak to a server, and the client takes long to load.
    const { Connection: Opened } = await import('./connection.ts');
    const connection = await Opened.open({
      target,
      fetch: outgoing.fetchFor(project),
      environment,
      patienceMs,
      onClose,
    });
    if (!this.#closed) return connection;
    await connection.close();
    throw new TroupeError('mcp_connection_lost', 'The process is stopping.');
  }

  #letRest(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return;
    // The one that was used last is closed last.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.idle = setTimeout(() => this.#end(key, entry), this.#settings.idleMs ?? IDLE_MS);
    entry.idle.unref();
  }

  #makeRoom(project: string): void {
    const all = [...this.#entries];
    const own = all.filter(([, entry]) => entry.project === project);
    const most = own.length >= MOST_OF_PROJECT ? own : all.length >= MOST_OPEN ? all : null;
    if (most === null) return;
    const [idle] = most.filter(([, { users }]) => users === 0);
    if (!idle) throw tooMany();
    this.#end(...idle);
  }

  #end(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    clearTimeout(entry.idle);
    this.#keepUntil(entry.opening.then((connection) => connection.close()).catch(() => {}));
  }

  #keepUntil(done: Promise<unknown>): void {
    this.#others.add(done);
    void done.then(() => this.#others.delete(done));
  }
}

function tooMany(): TroupeError {
  return new TroupeError(
    'mcp_too_many_connections',
    `This process has as many connections to MCP servers in use as it may (${MOST_OPEN}, of one project ${MOST_OF_PROJECT}). Try again later.`,
  );
}

function notAllowed(command: string): TroupeError {
  return new TroupeError(
    'mcp_command_not_allowed',
    `"${command.slice(0, 200)}" is none of the programs that the operator allows the project with TROUPE_MCP_COMMANDS.`,
  );
}

/** What goes on is left to itself. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort!);
  }
}
