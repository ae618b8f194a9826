import type { Endpoint, FrameKind } from '@troupe/protocol';
import type { z } from 'zod';
import { notationOf } from './notation.ts';
import { schemaOf } from './schema-of.ts';

/** The reference as one page: no script, no style sheet and no picture from anywhere else. */
export function docsPage(endpoints: readonly Endpoint[], { version }: { version: string }): string {
  const tags = [...new Set(endpoints.map((endpoint) => endpoint.tag))];
  const sections = tags.map((tag) => {
    const own = endpoints.filter((endpoint) => endpoint.tag === tag);
    return `<section id="${plain(tag)}"><h2>${plain(tag)}</h2>${own.map(article).join('')}</section>`;
  });
  const links = tags.map((tag) => `<a href="#${plain(tag)}">${plain(tag)}</a>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Troupe: reference</title>
<style>${STYLE}</style>
<header><h1>Troupe</h1><p>Version ${plain(version)}. The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<nav>${links.join(' ')}</nav></header>
<main>
<p>Send <code>Authorization: Bearer &lt;key&gt;</code>; <code>troupe dev</code> on this machine needs none. Errors are
<code>application/problem+json</code> with a <code>code</code> that never changes. Lists answer
<code>{ data, nextCursor }</code>. Shapes are written as in TypeScript: <code>?</code> may be left out,
<code>|</code> is one of several. <code>Idempotency-Key</code> on a POST makes it safe to send again.</p>
${sections.join('\n')}
</main>
</html>
`;
}

function article(endpoint: Endpoint): string {
  const { method, path, summary, description, scope, user, problems } = endpoint;
  const key = scope === null ? 'any key' : `scope ${scope}`;
  const who = user ? `${key}, or a person's token` : key;
  return `<details><summary><b class="${method}">${method}</b> <code>${plain(path)}</code> ${plain(summary)}</summary>
${description ? `<p>${prose(description)}</p>` : ''}<p class="quiet">${plain(who)}${
    problems?.length ? `; may answer ${problems.map((code) => `<code>${plain(code)}</code>`).join(', ')}` : ''
  }</p>
${endpoint.query ? shape('Query', endpoint.query, 'input') : ''}${endpoint.body ? shape('Body', endpoint.body, 'input') : ''}${
  endpoint.response
    ? shape(`Answer ${endpoint.status}`, endpoint.response, 'output')
    : `<h3>Answer ${endpoint.status}</h3>`
}${(endpoint.responseTypes ?? []).map((type) => `<code>${plain(type)}</code>`).join(' or ')}${
  endpoint.frames ? framesOf(endpoint.frames) : ''
}</details>`;
}

function framesOf(frames: readonly FrameKind[]): string {
  const kinds = frames.map(
    ({ event, description, schema }) =>
      `<p>event: <code>${plain(event)}</code>. ${prose(description)}</p>${written(schema, 'output')}`,
  );
  return `<h3>Frames of <code>text/event-stream</code></h3>${kinds.join('')}`;
}

function shape(title: string, schema: z.ZodType, io: 'input' | 'output'): string {
  return `<h3>${plain(title)}</h3>${written(schema, io)}`;
}

function written(schema: z.ZodType, io: 'input' | 'output'): string {
  return `<pre tabindex="0">${plain(notationOf(schemaOf(schema, io)))}</pre>`;
}

/** What stands between backquotes is code. */
function prose(text: string): string {
  return plain(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function plain(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --quiet: #777; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem; }
h1 { margin: 0; } h2 { margin: 2.5rem 0 .5rem; text-transform: capitalize; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
nav { display: flex; flex-wrap: wrap; gap: .75rem; }
details { border-top: 1px solid var(--line); padding: .5rem 0; } summary { cursor: pointer; }
b { display: inline-block; width: 4.5rem; font: 600 .8rem ui-monospace, monospace; }
.GET { color: #1a7f37; } .POST { color: #0969da; } .PUT, .PATCH { color: #9a6700; } .DELETE { color: #cf222e; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; } .quiet { color: var(--quiet); margin: .25rem 0; }
pre { border: 1px solid var(--line); border-radius: 6px; overflow: auto; padding: .75rem; max-height: 28rem; }
`;
