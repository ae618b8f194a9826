import type { Json, JsonObject } from '@troupe/protocol';
import type { ToolExecute } from '../../kernel/ports.ts';
import type { Outgoing } from '../../outgoing/index.ts';
import { readable } from '../web/readable.ts';
import { natureOf, textOf } from '../web/text-of.ts';

const MOST_BYTES = 1024 * 1024;
const MOST_CHARACTERS = 100_000;
const TIMEOUT_MS = 30_000;
const ACCEPT = 'text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5';

interface Arguments {
  url: string;
  method?: 'GET' | 'HEAD';
  as?: 'markdown' | 'text' | 'raw';
}

/** Reads a page of the web. A status that tells of an error is an answer like any other. */
export function webFetch(outgoing: Outgoing): ToolExecute {
  return async (args, { projectId, signal }) => {
    const { url, method = 'GET', as = 'markdown' } = args as unknown as Arguments;
    const response = await outgoing.request({
      project: projectId,
      url,
      method,
      headers: { accept: ACCEPT, 'user-agent': 'Troupe' },
      signal,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
      overflow: 'cut',
    });
    const { headers, body } = response;
    const contentType = headers.get('content-type') ?? '';
    const type = contentType.split(';')[0]!.trim().toLowerCase();
    const length = Number(headers.get('content-length') ?? Number.NaN);
    const facts: JsonObject = {
      url: response.url,
      status_code: response.status,
      content_type: contentType || null,
      size: method === 'HEAD' || response.cut ? (Number.isSafeInteger(length) ? length : null) : body.length,
      last_modified: headers.get('last-modified'),
      filename: filenameOf(headers.get('content-disposition'), response.url),
    };
    if (method === 'HEAD') return { ...facts, format: 'none', content: '', truncated: false };
    const nature = natureOf(type, body);
    if (nature === 'binary') {
      const error = `This is ${type || 'data of a type that is not known'} and no text: its content cannot be shown.`;
      return { ...facts, format: 'binary', content: '', truncated: response.cut, error };
    }
    const text = textOf(body, contentType, nature);
    if (nature === 'text' || as === 'raw') {
      return { ...facts, format: 'raw', ...shortened(text, response.cut) };
    }
    const page = readable(text, { url: response.url, as, most: MOST_CHARACTERS });
    return {
      ...facts,
      title: page.title || null,
      format: as,
      ...shortened(page.text, response.cut || page.cut),
    } satisfies Record<string, Json>;
  };
}

function shortened(text: string, cut: boolean): { content: string; truncated: boolean } {
  // The end may be half of a character that takes two.
  const content =
    text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS).replace(/[\ud800-\udbff]$/, '') : text;
  return { content: content.toWellFormed(), truncated: cut || content.length < text.length };
}

/** As the server names it; else the last part of the address, where that looks like the name of a file. */
function filenameOf(disposition: string | null, url: string): string | null {
  const given =
    /filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^;\s]+)/i.exec(disposition ?? '')?.[1] ??
    /filename\s*=\s*"([^"]+)"/i.exec(disposition ?? '')?.[1] ??
    /filename\s*=\s*([^;\s"]+)/i.exec(disposition ?? '')?.[1];
  const last = new URL(url).pathname.split('/').at(-1)!;
  const name = given ?? (/\.[a-z0-9]{1,10}$/i.test(last) ? last : null);
  return name === null ? null : decoded(name).split(/[\\/]/).at(-1)!.slice(0, 255).toWellFormed();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
