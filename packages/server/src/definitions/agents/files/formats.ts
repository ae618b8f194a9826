import { lazy } from '../../../base/index.ts';

export const yaml = lazy<typeof import('yaml')>('yaml');

export type Format = 'markdown' | 'yaml' | 'json';

export const mediaTypes: Record<Format, string> = {
  markdown: 'text/markdown',
  yaml: 'application/yaml',
  json: 'application/json',
};

const endings: Record<Format, string> = { markdown: 'md', yaml: 'yaml', json: 'json' };

/** The format that a media type names; for any other, what the text looks like. */
export function formatOf(text: string, mediaType: string): Format {
  const named = (Object.keys(mediaTypes) as Format[]).find((format) => mediaTypes[format] === mediaType);
  if (named) return named;
  if (splitFrontMatter(text)) return 'markdown';
  return /^\s*\{/.test(text) ? 'json' : 'yaml';
}

/**
 * What stands between two lines of `---`, and what follows. One empty line before the body and the line break at its end belong to
 * the file, not to the body; the first line says how lines end.
 */
export function splitFrontMatter(text: string): { front: string; body: string } | null {
  const opening = /^---[ \t]*(\r?\n)/.exec(text);
  if (!opening) return null;
  const [line, lineBreak] = opening as unknown as [string, string];
  const closing = /^---[ \t]*(?:\r?\n|$(?![\s\S]))/m;
  const rest = text.slice(line.length);
  const closed = closing.exec(rest);
  if (!closed) return null;
  let body = rest.slice(closed.index + closed[0].length);
  if (body.startsWith(lineBreak)) body = body.slice(lineBreak.length);
  if (body.endsWith(lineBreak)) body = body.slice(0, -lineBreak.length);
  return { front: rest.slice(0, closed.index), body };
}

export function joinFrontMatter(front: string, body: string): string {
  return `---\n${front}---\n\n${body}\n`;
}

/** Plain ASCII, so that every system and every header takes it. */
export function fileNameOf(name: string, format: Format): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 80);
  return `${slug || 'agent'}.${endings[format]}`;
}
