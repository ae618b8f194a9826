import type { LookupAddress } from 'node:dns';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { Lookup, OutgoingOptions } from '../../src/outgoing/client.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of the web that stands on this machine, and counts who connects to it. */
export class Web {
  connections = 0;
  readonly heard: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  readonly #server: Server;
  serve: Serve = (_request, response) => response.end('hello');

  private constructor() {
    this.#server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      this.heard.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      this.serve(request, response);
    });
    this.#server.on('connection', () => this.connections++);
  }

  static async open(host = '127.0.0.1', port = 0): Promise<Web> {
    const web = new Web();
    await new Promise<void>((done, fail) => {
      web.#server.once('error', fail).listen(port, host, done);
    });
    return web;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  forget(): void {
    this.connections = 0;
    this.heard.length = 0;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((done) => this.#server.close(() => done()));
  }
}

/** Names that lead where the test says; the answers of a name follow one another. */
export function fakeLookup(names: Record<string, string[][]>): { lookup: Lookup; asked: string[] } {
  const asked: string[] = [];
  const lookup: Lookup = (host, _options, done) => {
    asked.push(host);
    const answers = names[host.replace(/\.$/, '')];
    if (!answers)
      return done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), []);
    const addresses = answers.length > 1 ? answers.shift()! : answers[0]!;
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { lookup, asked };
}

/** Connects within this machine only: a test whose guard fails must not reach somebody. Who was let through is noted. */
export function nearby(passed: string[]): NonNullable<OutgoingOptions['connect']> {
  return (options) => (wanted, done) => {
    const far = (address: string) => !/^127\.|^::1$/.test(address);
    const refuse = (address: string) => {
      passed.push(address);
      return new Error(`${address} is far away`);
    };
    const host = wanted.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) && far(host)) return done(refuse(host), null);
    const lookup: LookupFunction = (name, { all }, answer) =>
      (options as { lookup: LookupFunction }).lookup(name, { all: true }, (error, addresses) => {
        const found = addresses as LookupAddress[];
        const away = error ? undefined : found.find(({ address }) => far(address));
        if (error || away) return answer(error ?? refuse(away!.address), []);
        if (all) return answer(null, found);
        return answer(null, found[0]!.address, found[0]!.family);
      });
    buildConnector({ ...options, lookup })(wanted, done);
  };
}

export const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
