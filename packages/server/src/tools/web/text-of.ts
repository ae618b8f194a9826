/** What is text, going by what the server says it is. */
const TEXT =
  /^(text\/|application\/(.+\+)?(json|xml|yaml|javascript|ecmascript|x-javascript|x-yaml|x-ndjson|ndjson|jsonl|toml|sql|graphql|rtf|x-www-form-urlencoded|x-sh)$|image\/svg\+xml$|message\/)/;
const HTML = /^(text\/html|application\/xhtml\+xml)$/;

export type Nature = 'html' | 'text' | 'binary';

/** `type` without its parameters, in lower case; empty where the server said nothing. */
export function natureOf(type: string, body: Uint8Array): Nature {
  if (HTML.test(type)) return 'html';
  if (TEXT.test(type)) return 'text';
  if (type !== '' && type !== 'application/octet-stream') return 'binary';
  const start = body.subarray(0, 4_096);
  if (start.includes(0)) return 'binary';
  const text = new TextDecoder().decode(start);
  if (text.trimStart().startsWith('<') && /<(!doctype html|html|head|body)\b/i.test(text)) return 'html';
  // The last character may be cut in two.
  return text.slice(0, -1).includes('\ufffd') ? 'binary' : 'text';
}

/** By the mark at its beginning, by what the server says, by what the page says of itself; else UTF-8. */
export function textOf(body: Uint8Array, contentType: string, nature: Nature): string {
  const start = new TextDecoder('latin1').decode(body.subarray(0, 2_048));
  const label =
    (start.startsWith('\u00ff\u00fe') && 'utf-16le') ||
    (start.startsWith('\u00fe\u00ff') && 'utf-16be') ||
    (start.startsWith('\u00ef\u00bb\u00bf') && 'utf-8') ||
    /charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType)?.[1] ||
    (nature === 'html' && /<meta[^>]+charset\s*=\s*["']?([^\s"'/>;]+)/i.exec(start)?.[1]) ||
    /^\s*<\?xml[^>]+encoding\s*=\s*["']([^"']+)/i.exec(start)?.[1] ||
    'utf-8';
  return decoded(body, label).replaceAll('\0', '');
}

function decoded(body: Uint8Array, label: string): string {
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
