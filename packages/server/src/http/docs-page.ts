import type { Endpoint, FrameKind } from '@troupe/protocol';
import type { z } from 'zod';
import { escapeHtml } from './escape-html.ts';
import { Notation } from './notation.ts';
import { type Direction, Schemas } from './schemas.ts';

type Write = (schema: z.ZodType, direction: Direction) => string;

/** The reference as one page: no script, no style sheet and no picture from anywhere else. */
export function docsPage(endpoints: readonly Endpoint[], { version }: { version: string }): string {
  const schemas = new Schemas(endpoints);
  const notation = new Notation(schemas.components);
  const write: Write = (schema, direction) => preformatted(notation.write(schemas.get(schema, direction)));
  const tags = [...new Set(endpoints.map((endpoint) => endpoint.tag))];
  const sections = tags.map((tag) => {
    const own = endpoints.filter((endpoint) => endpoint.tag === tag);
    return `<section id="${escapeHtml(tag)}"><h2>${escapeHtml(tag)}</h2>${own.map((endpoint) => article(endpoint, write)).join('')}</section>`;
  });
  const components = Object.entries(schemas.components).map(
    ([name, schema]) => `<h3 id="${name}">${name}</h3>${preformatted(notation.write(schema))}`,
  );
  const links = tags.map((tag) => `<a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a>`);
  links.push('<a href="#schemas">schemas</a>');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Troupe: reference</title>
<style>${STYLE}</style>
<header><h1>Troupe</h1><p>Version ${escapeHtml(version)}. The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<nav>${links.join(' ')}</nav></header>
<main>
<p>Send <code>Authorization: Bearer &lt;key&gt;</code>; <code>troupe dev</code> on this machine needs none. Errors are
<code>application/problem+json</code> with a <code>code</code> that never changes. Lists answer
<code>{ data, nextCursor }</code>. Shapes are written as in TypeScript: <code>?</code> may be left out,
<code>|</code> is one of several. <code>Idempotency-Key</code> on a POST makes it safe to send again.</p>
${sections.join('\n')}
<section id="schemas"><h2>schemas</h2>${components.join('')}</section>
</main>
</html>
`;
}

function article(endpoint: Endpoint, write: Write): string {
  const { method, path, summary, description, scope, user, problems } = endpoint;
  const key = scope === null ? 'any key' : `scope ${scope}`;
  const who = user ? `${key}, or a person's token` : key;
  return `<details><summary><b class="${method}">${method}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
${description ? `<p>${prose(description)}</p>` : ''}<p class="quiet">${escapeHtml(who)}${
    problems?.length
      ? `; may answer ${problems.map((code) => `<code>${escapeHtml(code)}</code>`).join(', ')}`
      : ''
  }</p>
${endpoint.query ? shape('Query', write(endpoint.query, 'input')) : ''}${endpoint.body ? shape('Body', write(endpoint.body, 'input')) : ''}${
  endpoint.response
    ? shape(`Answer ${endpoint.status}`, write(endpoint.response, 'output'))
    : `<h3>Answer ${endpoint.status}</h3>`
}${(endpoint.responseTypes ?? []).map((type) => `<code>${escapeHtml(type)}</code>`).join(' or ')}${
  endpoint.frames ? framesOf(endpoint.frames, write) : ''
}</details>`;
}

function framesOf(frames: readonly FrameKind[], write: Write): string {
  const kinds = frames.map(
    ({ event, description, schema }) =>
      `<p>event: <code>${escapeHtml(event)}</code>. ${prose(description)}</p>${write(schema, 'output')}`,
  );
  return `<h3>Frames of <code>text/event-stream</code></h3>${kinds.join('')}`;
}

function shape(title: string, written: string): string {
  return `<h3>${escapeHtml(title)}</h3>${written}`;
}

function preformatted(written: string): string {
  return `<pre tabindex="0">${written}</pre>`;
}

/** Text between backquotes is code. */
function prose(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
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
