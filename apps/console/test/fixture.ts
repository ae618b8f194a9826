import { Troupe } from '@troupe/sdk';
import { openServer, type ServerOptions, type TestServer } from '@troupe/testing';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from '../../../tools/browser.ts';
import { buildConsole, consoleFolder } from '../../../tools/console.ts';

/** The console as a person has it: built, served by a server with a real database, opened in a real browser. */
export class ConsoleFixture {
  readonly server: TestServer;
  readonly browser: TestBrowser;
  readonly troupe: Troupe;
  /** What the pages asked of others than the server, and what they threw. Both are to stay empty. */
  readonly strayRequests: string[] = [];
  readonly pageErrors: string[] = [];

  private constructor(server: TestServer, browser: TestBrowser) {
    this.server = server;
    this.browser = browser;
    this.troupe = new Troupe({ baseUrl: server.url });
  }

  static async open(options: ServerOptions): Promise<ConsoleFixture> {
    await buildConsole();
    const [server, browser] = await Promise.all([
      openServer({ jobs: true, triggers: true, console: consoleFolder, ...options }),
      openBrowser(),
    ]);
    return new ConsoleFixture(server, browser);
  }

  /** A fresh browser profile with one page, at `path`. */
  async page(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    // What moves is drawn by the processor here, and nothing can be clicked while it does.
    const usual = { viewport: { width: 1_280, height: 800 }, reducedMotion: 'reduce' as const };
    const context = await this.browser.newContext({ ...usual, ...options });
    this.#watch(context);
    const page = await context.newPage();
    if (path !== 'about:blank') await page.goto(this.server.url + path);
    return page;
  }

  #watch(context: BrowserContext): void {
    context.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(this.server.url) && !/^(data|blob):/.test(url)) this.strayRequests.push(url);
    });
    context.on('weberror', (error) => this.pageErrors.push(String(error.error().stack)));
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.close();
  }
}
