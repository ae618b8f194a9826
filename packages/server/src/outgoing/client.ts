import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import { messageOf, TroupeError } from '../base/index.ts';
import { AllowList, hostOf, isAddress, isPublic, portOf } from './addresses.ts';
import { bodyOf } from './body.ts';
import type { Outgoing, OutgoingRequest, OutgoingResponse } from './port.ts';

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
  /** How names are resolved; for tests. */
  lookup?: Lookup;
}

const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
const MOST_BYTES = 10 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const MOST_AGENTS = 200;
/** Headers that say nothing about who asks. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** Names are resolved, judged and connected to in one go: what was judged is what is connected to. */
export function createOutgoing({
  allowed,
  own = () => [],
  lookup = systemLookup as Lookup,
}: OutgoingOptions): Outgoing {
  const agents = new Map<string, { agent: Agent; list: AllowList }>();
  const direct = new Agent({ connect: { timeout: CONNECT_MS } });

  /** One for each project and list: a connection that one may use must not serve another. */
  async function agentFor(project: string) {
    const entries = await allowed(project);
    const key = `${project} ${entries.join(' ')}`;
    const known = agents.get(key);
    if (known) return known;
    const list = new AllowList(entries);
    const fresh = { list, agent: new Agent({ connect: connector(list, lookup) }) };
    agents.set(key, fresh);
    for (const [oldest, { agent }] of agents) {
      if (agents.size <= MOST_AGENTS) break;
      agents.delete(oldest);
      void agent.close();
    }
    return fresh;
  }

  async function dispatcherFor(project: string, url: URL): Promise<Agent> {
    if (own().includes(url.origin)) return direct;
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
      let hop = {
        url: addressOf(asked.url),
        method: asked.method ?? 'GET',
        headers: asked.headers ?? {},
        body: asked.body,
      };
      for (let followed = 0; ; followed++) {
        const dispatcher = await dispatcherFor(asked.project, hop.url);
        const response = await undiciFetch(hop.url, {
          method: hop.method,
          headers: hop.headers,
          redirect: 'manual',
          dispatcher,
          signal,
          ...(hop.body === undefined ? {} : { body: hop.body }),
        });
        const location = [301, 302, 303, 307, 308].includes(response.status)
          ? response.headers.get('location')
          : null;
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
      const url = addressOf(input instanceof Request ? input.url : String(input));
      const dispatcher = await dispatcherFor(project, url);
      try {
        const options = { ...init, redirect: 'manual', dispatcher } as Parameters<typeof undiciFetch>[1];
        return (await undiciFetch(input as string, options)) as unknown as Response;
      } catch (error) {
        throw forbiddenIn(error) ?? error;
      }
    },
  };
}

interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

/** As browsers do it, and what names the caller stays with the origin that it was meant for. */
function redirected(hop: Hop, location: string, status: number): Hop {
  const url = addressOf(location, hop.url);
  const asGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  const kept = Object.entries(hop.headers).filter(
    ([name]) =>
      (url.origin === hop.url.origin || HARMLESS.has(name.toLowerCase())) &&
      !(asGet && name.toLowerCase() === 'content-type'),
  );
  const body = asGet || url.origin !== hop.url.origin ? undefined : hop.body;
  // What was to be written goes to the one that it was written for.
  const method = asGet || (body === undefined && hop.body !== undefined) ? 'GET' : hop.method;
  return { url, method, headers: Object.fromEntries(kept), body };
}

function addressOf(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) {
    throw new TroupeError(
      'address_invalid',
      `${JSON.stringify(text.slice(0, 200))} is no address of the web.`,
    );
  }
  const url = new URL(text, base?.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TroupeError(
      'address_invalid',
      `An address begins with http: or https:, not with ${url.protocol}`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new TroupeError('address_invalid', 'An address must not hold a user name or a password.');
  }
  return url;
}

/** Connects only to addresses that it may; one forbidden address among several is reason enough to refuse. */
function connector(list: AllowList, lookup: Lookup): buildConnector.connector {
  return (options, done) => {
    const host = options.hostname.toLowerCase().replace(/\.$/, '');
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80));
    const checked: LookupFunction = (name, { all }, answer) => {
      lookup(name, { all: true, verbatim: true }, (error, addresses) => {
        if (error) return answer(error, []);
        const may = ({ address }: LookupAddress) => isPublic(address) || list.has(host, port, address);
        if (addresses.length === 0 || !addresses.every(may)) return answer(forbidden(name), []);
        if (all) return answer(null, addresses);
        return answer(null, addresses[0]!.address, addresses[0]!.family);
      });
    };
    buildConnector({ timeout: CONNECT_MS, lookup: checked })(options, done);
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
