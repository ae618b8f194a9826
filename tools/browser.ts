/** A real browser for tests: Chromium from npm, so that neither root nor a download is needed. */
import { setTimeout } from 'node:timers/promises';
import sparticuz from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

/** What is meant for a place with one core and little memory, and makes pages slow or weak elsewhere; and a rule that must stay on. */
const UNWANTED =
  /^--(single-process|no-zygote|in-process-gpu|disable-web-security|use-gl|use-angle|enable-unsafe-swiftshader|ignore-gpu-blocklist)/;
const PATIENCE_MS = 30_000;
/** This machine by a name that does not say so, for pages of a server elsewhere. */
export const ELSEWHERE = 'troupe.test';

export type TestBrowser = Pick<Browser, 'newContext' | 'newPage' | 'close'>;

let shared: Promise<Browser> | null = null;

/** The one browser of the process, which in tests ends with it; `close` closes what was opened here. */
export async function openBrowser(): Promise<TestBrowser> {
  shared ??= launch();
  const browser = await shared;
  const contexts: BrowserContext[] = [];
  const newContext: Browser['newContext'] = async (options) => {
    const context = await browser.newContext(options);
    contexts.push(context);
    return context;
  };
  return {
    newContext,
    newPage: async (options) => (await newContext(options)).newPage(),
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()));
      if (process.env.VITEST) return;
      shared = null;
      await browser.close();
    },
  };
}

async function launch(): Promise<Browser> {
  const args = [
    ...sparticuz.args.filter((arg) => !UNWANTED.test(arg)),
    '--disable-gpu',
    `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`,
  ];
  for (const began = Date.now(); ; ) {
    try {
      return await chromium.launch({
        executablePath: await sparticuz.executablePath(),
        args,
        headless: true,
      });
    } catch (error) {
      // Another process of the tests is still unpacking it.
      if (!String(error).includes('ETXTBSY') || Date.now() - began > PATIENCE_MS) throw error;
      await setTimeout(100);
    }
  }
}
