import type { Endpoint } from '@troupe/protocol';
import { Hono } from 'hono';
import { docsPage } from '../docs-page.ts';
import { openApiOf } from '../openapi.ts';

/** What is served, told: for programs and for people. Made once, when first asked for. */
export function referenceRoutes(served: () => readonly Endpoint[], version: string): Hono {
  const routes = new Hono();
  let document: string | undefined;
  let page: string | undefined;
  routes.get('/openapi.json', (context) => {
    document ??= JSON.stringify(openApiOf(served(), { version }));
    return context.body(document, 200, { 'content-type': 'application/json' });
  });
  routes.get('/docs', (context) => {
    page ??= docsPage(served(), { version });
    return context.body(page, 200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    });
  });
  return routes;
}
