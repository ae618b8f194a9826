import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import { countedFetch, type TooMuch } from './counted-fetch.ts';
import { type Definition, definitionOf } from './definition.ts';
import { CUT_OFF } from './failure.ts';
import { ProgramTransport } from './program.ts';
import type { Target } from './target.ts';

const PING_MS = 3_000;
const GOODBYE_MS = 1_000;
/** Between a stream that ended and the next one. */
const SOONEST_MS = 500;
const LATEST_MS = 5_000;
const MOST_PAGES = 20;
const MOST_TOOLS = 1_000;
/** Of all definitions together; they are kept as long as the connection is. */
const MOST_DEFINED = 4 * 1024 * 1024;
/** How old what the server said of its tools may be, where it promised to tell of changes, and where it did not. */
const FRESH_MS = { told: 30_000, untold: 1_000 };

/** What structured results must look like is the server's promise to itself; schemas of strangers are not compiled for it. */
const believing = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }),
};

export interface Opening {
  target: Target;
  /** Under the project's guard. */
  fetch: typeof globalThis.fetch;
  /** What programs are given beside what their row says. */
  environment: Record<string, string>;
  patienceMs: number;
  onClose(): void;
}

/** One server that was connected to. Broken once, it stays so. */
export class Connection {
  readonly #client: Client;
  #transport: Transport | null = null;
  #broken: TroupeError | null = null;
  #closed = false;
  #known: { at: number; tools: Promise<Map<string, Definition>> } | null = null;

  readonly #patienceMs: number;

  private constructor(patienceMs: number, onClose: () => void) {
    this.#patienceMs = patienceMs;
    this.#client = new Client(
      { name: 'troupe', version: '1' },
      {
        capabilities: {},
        jsonSchemaValidator: believing as never,
        // Nobody is there to be asked.
        inputRequired: { autoFulfill: false },
        listMaxPages: MOST_PAGES,
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#forget() } },
      },
    );
    this.#client.onclose = () => {
      this.#closed = true;
      onClose();
    };
    // Told by what fails because of it.
    this.#client.onerror = () => {};
  }

  static async open({ target, fetch, environment, patienceMs, onClose }: Opening): Promise<Connection> {
    const connection = new Connection(patienceMs, onClose);
    const client = connection.#client;
    const onBroken = (why: TroupeError) => connection.#break(why);
    if (target.transport === 'http') {
      client.setVersionNegotiation({ mode: 'auto' });
      connection.#transport = new StreamableHTTPClientTransport(new URL(target.url), {
        fetch: countedFetch(fetch, (what) => connection.#cutOff(what)),
        requestInit: { headers: target.headers },
        reconnectionOptions: {
          initialReconnectionDelay: SOONEST_MS,
          maxReconnectionDelay: LATEST_MS,
          reconnectionDelayGrowFactor: 2,
          maxRetries: 2,
        },
        // How soon is for servers to say, within these: one that says 0 and ends each stream would be asked without pause.
        reconnectionScheduler: (reconnect, delay) => {
          const timer = setTimeout(reconnect, Math.min(Math.max(delay, SOONEST_MS), LATEST_MS));
          timer.unref();
          return () => clearTimeout(timer);
        },
      });
    } else {
      const { command, args, env } = target;
      connection.#transport = new ProgramTransport(
        { command, args, env: { ...env, ...environment } },
        onBroken,
      );
    }
    try {
      await client.connect(connection.#transport, { timeout: patienceMs, maxTotalTimeout: patienceMs });
      return connection;
    } catch (error) {
      await connection.close();
      throw connection.#broken ?? error;
    }
  }

  get closed(): boolean {
    return this.#closed || this.#broken !== null;
  }

  /** Why it ended, where that is known better than by what failed because of it. */
  get broken(): TroupeError | null {
    return this.#broken;
  }

  get about(): { server: { name: string; version: string } | null; protocolVersion: string | null } {
    const { name, version } = this.#client.getServerVersion() ?? {};
    return {
      server: name === undefined ? null : { name: short(name), version: short(version ?? '') },
      protocolVersion: this.#client.getNegotiatedProtocolVersion() ?? null,
    };
  }

  /** All tools as the server describes them; `anew`: now, whatever is known. */
  async tools({ anew = false } = {}): Promise<Map<string, Definition>> {
    const tells = this.#client.getServerCapabilities()?.tools?.listChanged === true;
    const oldest = performance.now() - (tells ? FRESH_MS.told : FRESH_MS.untold);
    if (!anew && this.#known && this.#known.at > oldest) return this.#known.tools;
    const known = { at: performance.now(), tools: this.#list() };
    this.#known = known;
    known.tools.catch(() => {
      if (this.#known === known) this.#known = null;
    });
    return known.tools;
  }

  async #list(): Promise<Map<string, Definition>> {
    const { tools } = await this.#client.listTools(undefined, {
      cacheMode: 'bypass',
      timeout: this.#patienceMs,
      maxTotalTimeout: this.#patienceMs,
    });
    if (tools.length > MOST_TOOLS || JSON.stringify(tools).length > MOST_DEFINED)
      throw new TroupeError('mcp_too_much', 'The server has more tools than can be looked at.');
    return new Map(tools.map((tool) => [tool.name, definitionOf(tool)]));
  }

  async call(
    tool: Tool,
    args: JsonObject,
    { callId, signal, timeoutMs }: { callId: string; signal: AbortSignal; timeoutMs: number },
  ): Promise<CallToolResult> {
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: args, _meta: { 'troupe/callId': callId } },
        { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs, toolDefinition: tool },
      );
    } catch (error) {
      if (signal.aborted) void this.#look();
      throw error;
    }
  }

  /** A server that left a call unanswered may be gone for all others too. */
  async #look(): Promise<void> {
    try {
      await this.#client.ping({ timeout: Math.min(PING_MS, this.#patienceMs) });
    } catch {
      this.#break(new TroupeError('mcp_connection_lost', 'The server no longer answers.'));
    }
  }

  /** Of no more use to anybody. */
  drop(): void {
    this.#break(new TroupeError('mcp_connection_lost', 'The server no longer knows the connection.'));
  }

  #forget(): void {
    this.#known = null;
  }

  /** The answer to one request ends that one; what nobody asked for ends the connection. */
  #cutOff({ id, why }: TooMuch): void {
    const error = { code: -32_000, message: why.message, data: { [CUT_OFF]: true } };
    if (id === null) this.#break(why);
    else this.#transport?.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  #break(why: TroupeError): void {
    this.#broken ??= why;
    void this.close();
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    if (!this.#broken && transport instanceof StreamableHTTPClientTransport && !this.#closed) {
      const goodbye = transport.terminateSession().catch(() => {});
      await Promise.race([goodbye, new Promise((done) => setTimeout(done, GOODBYE_MS).unref())]);
    }
    this.#closed = true;
    await this.#client.close().catch(() => {});
    await transport?.close().catch(() => {});
  }
}

function short(text: string): string {
  return text.slice(0, 200).toWellFormed();
}
