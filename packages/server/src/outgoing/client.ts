import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Agent, buildConnector } from 'undici';
import { lazy, limited, messageOf, once, TroupeError } from '../base/index.ts';
import { AllowList, hostOf, isAddress, isPublic, portOf, webAddress } from './addresses.ts';
import { bodyOf } from './body.ts';
import { headersOf, VIA } from './headers.ts';
import type { Outgoing, OutgoingRequest, OutgoingResponse } from './port.ts';
import { type Hop, locationOf, redirected } from './redirects.ts';

const undici = lazy<typeof import('undici')>('undici');

export type Lookup = (
  host: string,
  options: { all: true; verbatim: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface OutgoingOptions {
  /** What a project may reach beyond the internet; see `AllowList`. */
  allowed(project: string): Promise<readonly string[]>;
  /** Origins that are the server's own, and pass for everybody. */
  own?(): readonly string[];
  /** How names are resolved, and how what was judged is connected to; for tests. */
  lookup?: Lookup;
  connect?: typeof buildConnector;
}

const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
const MOST_BYTES = 10 * 1024 * 1024;
/** Who reads a stream knows better what is too much; this is for those who do not look. */
const MOST_STREAM_BYTES = 128 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const MAX_AGENTS = 200;

/** Names are resolved, judged and connected to in one go: what was judged is what is connected to. */
export function createOutgoing({
  allowed,
  own = () => [],
  lookup = systemLookup as Lookup,
  connect = (options) => undici().buildConnector(options),
}: OutgoingOptions): Outgoing {
  const agents = new LRUCache<string, { agent: Agent; list: AllowList }>({
    max: MAX_AGENTS,
    dispose: ({ agent }) => void agent.close(),
  });
  const direct = once(() => new (undici().Agent)({ connect: { timeout: CONNECT_MS } }));

  /** One for each project and list: a connection that one may use must not serve another. */
  async function agentFor(project: string) {
    const entries = await allowed(project);
    const key = JSON.stringify([project, entries]);
    const known = agents.get(key);
    if (known) return known;
    const list = new AllowList(entries);
    const fresh = { list, agent: new (undici().Agent)({ connect: connector(list, { lookup, connect }) }) };
    agents.set(key, fresh);
    return fresh;
  }

  async function dispatcherFor(project: string, url: URL): Promise<Agent> {
    if (own().includes(url.origin)) return direct();
    const { agent, list } = await agentFor(project);
    const host = hostOf(url);
    const port = portOf(url);
    if (isAddress(host) && !isPublic(host) && !list.has(host, port, host)) throw forbidden(host);
    return agent;
  }

  async function request(asked: OutgoingRequest): Promise<OutgoingResponse> {
    const {
      timeoutMs = TIMEOUT_MS,
      maxBytes = MOST_BYTES,
      overflow = 'refuse',
      redirects = MOST_REDIRECTS,
    } = asked;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = asked.signal ? AbortSignal.any([asked.signal, timeout]) : timeout;
    try {
      let hop: Hop = {
        url: webAddress(asked.url),
        method: asked.method ?? 'GET',
        headers: headersOf(asked.headers ?? {}),
        body: asked.body,
      };
      for (let followed = 0; ; followed++) {
        const dispatcher = await dispatcherFor(asked.project, hop.url);
        const response = await undici().fetch(hop.url, {
          method: hop.method,
          headers: hop.headers,
          redirect: 'manual',
          dispatcher,
          signal,
          ...(hop.body === undefined ? {} : { body: hop.body }),
        });
        const location = locationOf(response.status, response.headers);
        if (location === null) {
          const { body, cut } = await bodyOf(response.body, { maxBytes, overflow });
          return {
            url: hop.url.href,
            status: response.status,
            headers: new Headers([...response.headers]),
            body,
            cut,
          };
        }
        await response.body?.cancel();
        if (followed >= redirects) {
          throw new TroupeError(
            'too_many_redirects',
            `${hop.url.host} redirects; at most ${redirects} are followed.`,
          );
        }
        hop = redirected(hop, location, response.status);
      }
    } catch (error) {
      throw failureOf(error, { timeout, outer: asked.signal, timeoutMs });
    }
  }

  return {
    request,
    fetchFor: (project) => async (input, init) => {
      // A `Request` brings what `init` would say; the client is another than the one that it was made for.
      const asked = input instanceof Request ? { ...partsOf(input), ...init } : init;
      const url = webAddress(input instanceof Request ? input.url : String(input));
      const headers = new Headers(asked?.headers);
      headers.set('via', VIA);
      try {
        const options = {
          ...asked,
          headers: [...headers],
          redirect: 'manual',
          dispatcher: await dispatcherFor(project, url),
        } as unknown as Parameters<typeof import('undici')['fetch']>[1];
        const response = (await undici().fetch(url, options)) as unknown as Response;
        return limited(response, { maxBytes: MOST_STREAM_BYTES, overflow: 'refuse' });
      } catch (error) {
        throw forbiddenIn(error) ?? error;
      }
    },
  };
}

function partsOf({ method, headers, body, signal }: Request): RequestInit {
  return { method, headers, signal, ...(body === null ? {} : { body, duplex: 'half' as const }) };
}

/** Connects only to addresses that it may; one forbidden address among several is reason enough to refuse. */
function connector(
  list: AllowList,
  { lookup, connect }: { lookup: Lookup; connect: typeof buildConnector },
): buildConnector.connector {
  return (options, done) => {
    const host = options.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80));
    // An address is connected to without a look-up.
    if (isAddress(host) && !isPublic(host) && !list.has(host, port, host)) {
      return done(forbidden(host), null);
    }
    const checked: LookupFunction = (name, { all }, answer) => {
      lookup(name, { all: true, verbatim: true }, (error, addresses) => {
        if (error) return answer(error, []);
        const may = ({ address }: LookupAddress) => isPublic(address) || list.has(host, port, address);
        if (addresses.length === 0 || !addresses.every(may)) return answer(forbidden(name), []);
        if (all) return answer(null, addresses);
        return answer(null, addresses[0]!.address, addresses[0]!.family);
      });
    };
    connect({ timeout: CONNECT_MS, lookup: checked })(options, done);
  };
}

function forbidden(host: string): TroupeError {
  return new TroupeError(
    'address_forbidden',
    `${host} is not an address of the internet, and not on the project's allow-list.`,
    {
      hint: 'Whoever runs the server can allow it for the project.',
    },
  );
}

/** What the guard said stands somewhere within what the connection says. */
function forbiddenIn(error: unknown): TroupeError | null {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if (one instanceof TroupeError) return one;
  }
  return null;
}

function failureOf(
  error: unknown,
  { timeout, outer, timeoutMs }: { timeout: AbortSignal; outer: AbortSignal | undefined; timeoutMs: number },
): unknown {
  if (outer?.aborted) return outer.reason;
  if (timeout.aborted)
    return new TroupeError('request_timeout', `There was no whole answer within ${timeoutMs} ms.`);
  const told = forbiddenIn(error);
  if (told) return told;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new TroupeError('connection_failed', `The request failed: ${messageOf(cause)}.`, { cause: error });
}
