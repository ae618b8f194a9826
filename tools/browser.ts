/** A real browser for tests: Chromium from npm, so that neither root nor a download is needed. */
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await sparticuz.executablePath(),
    // It comes with the rule switched off that keeps pages from the answers of other origins.
    args: sparticuz.args.filter((arg) => arg !== '--disable-web-security'),
    headless: true,
  });
}
