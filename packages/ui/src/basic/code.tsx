import { type ReactNode, useId, useState } from 'react';
import { classes } from './classes.ts';
import { CopyButton } from './copy-button.tsx';

export interface CodeProps {
  text: string;
  /** Shown above it. */
  language?: string | null | undefined;
  /** Instead of the text itself, such as the text with colours. What is copied stays the text. */
  children?: ReactNode;
  /** How many lines are shown before one has to ask for all. Default: 400. */
  lines?: number | undefined;
  /** What it is, for those who hear the page. */
  label?: string | undefined;
  /** Whether long lines are broken, instead of leading out of sight. */
  wrap?: boolean | undefined;
}

const WIDEST = 20_000;

export function Code({ text, language, children, lines = 400, label, wrap = false }: CodeProps) {
  const [isOpen, setOpen] = useState(false);
  const bodyId = useId();
  const shown = isOpen ? null : shorten(text, lines);
  return (
    <figure className="troupe-code" aria-label={label}>
      <figcaption className="troupe-code-head">
        <span className="troupe-code-language">{language || 'text'}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre id={bodyId} className={classes('troupe-code-body', wrap && 'troupe-code-wrap')} tabIndex={0}>
        <code>{shown ?? children ?? text}</code>
      </pre>
      {(shown !== null || isOpen) && (
        <button
          type="button"
          className="troupe-code-more"
          aria-expanded={isOpen}
          aria-controls={bodyId}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Show less' : `Show all (${sizeText(text)})`}
        </button>
      )}
    </figure>
  );
}

/** The beginning, or null where all of it may be shown. */
function shorten(text: string, lines: number): string | null {
  let end = 0;
  for (let count = 0; count < lines; count++) {
    const next = text.indexOf('\n', end);
    if (next < 0) {
      end = text.length;
      break;
    }
    end = next + 1;
  }
  end = Math.min(end, WIDEST);
  return end < text.length ? text.slice(0, end) : null;
}

export function sizeText(text: string | number): string {
  const bytes = typeof text === 'number' ? text : text.length;
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
