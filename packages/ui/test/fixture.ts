import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { openBrowser, type TestBrowser } from '../../../tools/browser.ts';

const TYPES: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };
/** Elsewhere than on this machine. */
const isRemote = (address: string) => !/^(http:\/\/127\.0\.0\.1[:/]|data:|blob:|about:)/.test(address);

export interface Gallery {
  origin: string;
  page: Page;
  /** Whatever the page asked of others. Nothing of it gets through. */
  remote: string[];
  errors: string[];
  open(query?: string): Promise<void>;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The gallery, built and shown in Chromium. `api` answers what begins with `/v1/`. */
export async function openGallery(api?: Answer): Promise<Gallery> {
  const files = await built();
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname;
    if (api && path.startsWith('/v1/')) return api(request, response);
    const body = files.get(path === '/' ? '/index.html' : path);
    if (body === undefined) return void response.writeHead(404).end();
    response.setHeader('content-type', TYPES[path.split('.').at(-1)!] ?? 'text/html').end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser: TestBrowser = await openBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  // What moves would be drawn all the time, by the processor.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const [remote, errors]: [string[], string[]] = [[], []];
  await page.route('**', (route) => {
    const address = route.request().url();
    if (!isRemote(address)) return route.continue();
    remote.push(address);
    return route.abort();
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return {
    ...{ origin, page, remote, errors },
    open: async (query = '') => {
      await page.goto(`${origin}/?${query}`);
      await page.waitForSelector('main');
    },
    close: async () => {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function built(): Promise<Map<string, string | Uint8Array>> {
  const root = fileURLToPath(new URL('../gallery', import.meta.url));
  const { output } = (await build({
    root,
    configFile: `${root}/vite.config.ts`,
    logLevel: 'silent',
    build: { write: false, minify: false, cssMinify: false, reportCompressedSize: false },
  })) as Rolldown.RolldownOutput;
  return new Map(
    output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]),
  );
}
