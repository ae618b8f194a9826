import { memo, type ReactNode, useMemo } from 'react';
import { Code } from './code.tsx';

export interface JsonProps {
  value: unknown;
  /** How many lines are shown before one has to ask for all. Default: 24. */
  lines?: number | undefined;
  label?: string | undefined;
}

/** Colouring costs an element per token: beyond this the text is shown as it is. */
const COLOURED = 30_000;

/** A value as indented JSON. A text is shown as a text: quotes and escapes would only be in the way. */
export const Json = memo(function Json({ value, lines = 24, label }: JsonProps) {
  const text = useMemo(() => jsonText(value), [value]);
  const isText = typeof value === 'string';
  const coloured = useMemo(() => (isText || text.length > COLOURED ? text : colour(text)), [isText, text]);
  return (
    <Code text={text} language={isText ? 'text' : 'json'} lines={lines} label={label} wrap>
      {coloured}
    </Code>
  );
});

export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value, null, 2) ?? 'undefined';
  } catch {
    return String(value);
  }
}

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function colour(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon, word] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = string ? (colon ? 'key' : 'string') : word ? 'word' : 'number';
    const shown = string && colon ? string : whole;
    parts.push(
      <span key={match.index} className={`troupe-json-${kind}`}>
        {shown}
      </span>,
    );
    if (string && colon) parts.push(colon);
    end = match.index + whole.length;
  }
  parts.push(text.slice(end));
  return parts;
}
