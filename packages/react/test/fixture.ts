import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Script } from '@troupe/server/parts';
import { createDatabase, openServer, until } from '@troupe/testing';
import type { Page } from 'playwright-core';
import { build } from 'rolldown';
import { ELSEWHERE, openBrowser } from '../../../tools/browser.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What becomes of a request: it passes, its answer is lost, or it is answered here. */
export type Fate = 'pass' | 'lose' | { status: number; code: string };

interface Running {
  url: string;
  close(): Promise<unknown>;
}

/**
 * A page that renders hooks in Chromium, and a server behind it. Without a script the server is a process of its own, which can be killed and
 * started again under the same address.
 */
export async function openHooks({ postgresUrl, script }: { postgresUrl: string; script?: Script }) {
  const database = await createDatabase(postgresUrl);
  const start = (): Promise<Running> =>
    script ? openServer({ postgresUrl, databaseUrl: database.url, script }) : startProcess(database.url);
  const [code, first] = await Promise.all([bundled(here('./page.js')), start()]);
  const scripts = new Map([['/page.js', code]]);
  let server: Running | null = first;
  const seen: { method: string; path: string; isStream: boolean }[] = [];
  const streams = new Set<ServerResponse>();
  let rule: (passing: { method: string; path: string }) => Fate = () => 'pass';

  const front = createServer((asked, response) => {
    const [method, path] = [asked.method!, asked.url!];
    const served = scripts.get(path);
    if (served) return void response.setHeader('content-type', 'text/javascript').end(served);
    if (!path.startsWith('/v1/'))
      return void response
        .setHeader('content-type', 'text/html')
        .end(
          `<!doctype html><body></body><script type="module" src="${path === '/' ? '/page' : path}.js"></script>`,
        );
    const isStream = asked.headers.accept === 'text/event-stream';
    seen.push({ method, path, isStream });
    if (isStream) {
      streams.add(response);
      response.on('close', () => streams.delete(response));
    }
    const fate = rule({ method, path });
    if (typeof fate === 'object') return answer(response, fate);
    if (!server) return void response.destroy();
    forward(server.url, { asked, response, isLost: fate === 'lose' });
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;

  const browser = await openBrowser();
  return {
    origin,
    seen,
    /** Streams that the page holds open. */
    streams,
    /** Until it is called again without one. */
    rule: (now: typeof rule = () => 'pass') => {
      rule = now;
    },
    async kill() {
      await server?.close();
      server = null;
    },
    async start() {
      server = await start();
    },
    /** A page of its own, of this program. */
    async visitProgram(file: string): Promise<Page> {
      scripts.set('/program.js', await bundled(file));
      const tab = await browser.newPage();
      await tab.goto(`${origin}/program`);
      return tab;
    },
    /** With `clock`, its time can be made to pass faster; `elsewhere`, it does not know that the server is on the same machine. */
    async visit({ clock = false, elsewhere = false } = {}): Promise<Visit> {
      const context = await browser.newContext();
      const tab = await context.newPage();
      const errors: string[] = [];
      tab.on('pageerror', (error) => errors.push(String(error)));
      if (clock) await tab.clock.install();
      await tab.goto(elsewhere ? origin.replace('127.0.0.1', ELSEWHERE) : origin);
      await tab.waitForFunction('window.isLoaded');
      const ask = <Value>(scripted: string) => tab.evaluate(scripted) as Promise<Value>;
      return {
        ...{ tab, ask, errors },
        sees: async (scripted) => {
          await until(`the page sees ${scripted}`, () => ask<boolean>(scripted));
        },
        setOffline: (isOffline) => context.setOffline(isOffline),
        fastForward: (ms) => tab.clock.fastForward(ms),
      };
    },
    async close() {
      await browser.close();
      front.close();
      front.closeAllConnections();
      await server?.close();
      await database.drop();
    },
  };
}

export type HooksFixture = Awaited<ReturnType<typeof openHooks>>;

export interface Visit {
  tab: Page;
  /** What an expression is in the page. */
  ask<Value>(script: string): Promise<Value>;
  /** Waits until an expression is true there. */
  sees(script: string): Promise<void>;
  /** Of the page, so far: there should be none. */
  errors: string[];
  setOffline(isOffline: boolean): Promise<void>;
  /** Timers of the page that are due by then fire at once. */
  fastForward(ms: number): Promise<void>;
}

async function startProcess(databaseUrl: string): Promise<Running> {
  const child = spawn(process.execPath, [here('./server-process.ts'), databaseUrl], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [url] = await once(child.stdout, 'data');
  const close = async () => {
    const end = once(child, 'exit');
    child.kill('SIGKILL');
    await end;
  };
  return { url: String(url).trim(), close };
}

async function bundled(input: string): Promise<string> {
  const { output } = await build({
    input,
    platform: 'browser',
    write: false,
    logLevel: 'silent',
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
    output: { format: 'esm' },
  });
  return output[0].code;
}

function answer(response: ServerResponse, { status, code }: { status: number; code: string }): void {
  const problem = { type: 'about:blank', title: code, status, code, detail: `Refused: ${code}.` };
  response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
}

function forward(
  target: string,
  { asked, response, isLost }: { asked: IncomingMessage; response: ServerResponse; isLost: boolean },
): void {
  const { method, url } = asked;
  // As one that stands before a server: that is asked by its own name.
  const { origin: _, ...headers } = { ...asked.headers, host: new URL(target).host };
  const asking = request(target + url, { method, headers }, (answered) => {
    if (isLost) return void answered.resume().on('end', () => response.destroy());
    response.writeHead(answered.statusCode!, answered.headers);
    answered.pipe(response);
    answered.on('error', () => response.destroy());
  });
  asking.on('error', () => response.destroy());
  response.on('close', () => asking.destroy());
  asked.pipe(asking);
}
