import { TroupeError } from '../base/index.ts';
import { webAddress } from './addresses.ts';

/** Headers that say nothing about who asks. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent', 'via']);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

export function locationOf(status: number, headers: { get(name: string): string | null }): string | null {
  return REDIRECTS.has(status) ? headers.get('location') : null;
}

/** As browsers do it, and what names the caller stays with the origin that it was meant for. */
export function redirected(hop: Hop, location: string, status: number): Hop {
  const url = webAddress(location, hop.url);
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') {
    throw new TroupeError(
      'address_forbidden',
      `${hop.url.host} redirects from https to http, where anybody on the way could read and change the answer.`,
      { hint: 'Ask for the http address itself, where that is all there is.' },
    );
  }
  const same = url.origin === hop.url.origin;
  const asGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  // What was to be written goes to the one that it was written for.
  const body = asGet || !same ? undefined : hop.body;
  const bare = asGet || (body === undefined && hop.body !== undefined);
  const kept = Object.entries(hop.headers).filter(([name]) => {
    const lower = name.toLowerCase();
    return (same || HARMLESS.has(lower)) && !(bare && lower === 'content-type');
  });
  return { url, method: bare ? 'GET' : hop.method, headers: Object.fromEntries(kept), body };
}
