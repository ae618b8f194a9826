import { TroupeError } from '../base/index.ts';

/** Of the connection and not of the request: the client says them itself, and two answers would be two requests to somebody. */
const OWN = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Tells a server of ours that somebody else is asking through it: see `isFromThisMachine`. */
export const VIA = '1.1 troupe';
/** So that whoever is asked can tell who asks. */
const AGENT = 'troupe';

/** What goes along. A value that cannot be sent is not shown: it may hold a secret. */
export function headersOf(given: Record<string, string>): Record<string, string> {
  const kept = Object.entries(given).filter(([name]) => {
    const lower = name.toLowerCase();
    return !OWN.has(lower) && !lower.startsWith('proxy-');
  });
  for (const [name, value] of kept) {
    if (NAME.test(name) && VALUE.test(value)) continue;
    throw new TroupeError(
      'header_invalid',
      `The header ${JSON.stringify(name.slice(0, 100))} cannot be sent: ${NAME.test(name) ? 'its value holds characters that none may hold' : 'that is no name of a header'}.`,
    );
  }
  const named = kept.some(([name]) => name.toLowerCase() === 'user-agent');
  return { ...(named ? {} : { 'user-agent': AGENT }), ...Object.fromEntries(kept), via: VIA };
}
