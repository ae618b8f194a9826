import { type ComponentProps, memo, type ReactNode } from 'react';
import { type Components, defaultRehypePlugins, Streamdown, type StreamdownProps } from 'streamdown';

import { Code } from '../basic/code.tsx';
import { safeLink } from './addresses.ts';
import { Picture } from './picture.tsx';

export interface MarkdownProps {
  text: string;
  /** It is still being written: what is cut off at its end is shown as it will be. */
  streaming?: boolean | undefined;
}

/** HTML in the text is shown as it is written: without the plugin that would read it, none of it becomes an element. */
const [sanitize, schema] = defaultRehypePlugins.sanitize as [Pluggable, { protocols: { src: string[] } }];
const allowed = {
  ...schema,
  protocols: { ...schema.protocols, src: [...schema.protocols.src, 'data', 'blob'] },
};
const plugins = [[sanitize, allowed]] as StreamdownProps['rehypePlugins'] & object;

export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  return (
    <Streamdown
      className="troupe-markdown"
      mode="streaming"
      parseIncompleteMarkdown={streaming}
      isAnimating={streaming}
      components={components}
      rehypePlugins={plugins}
      controls={false}
      linkSafety={NO_QUESTION}
      urlTransform={keep}
      dir="auto"
    >
      {text}
    </Streamdown>
  );
});

type Pluggable = (typeof defaultRehypePlugins)[string];
const NO_QUESTION = { enabled: false };
/** What may be followed and loaded is decided where links and pictures are shown. */
const keep = (url: string) => url;

function Link({ href, children, title }: ComponentProps<'a'>) {
  const link = safeLink(href);
  // The rest of a link that is still being written has no address yet.
  if (!link) return <span className="troupe-link-dead">{children}</span>;
  // Places within the text have no ids; those of the page around it are not the author's to lead to.
  if (link.startsWith('#')) return <span>{children}</span>;
  return (
    <a href={link} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** The text of a fenced block is the only child of the `code` in its `pre`. */
function Block({ children }: { children?: ReactNode }) {
  const code = children as { props?: { className?: string; children?: ReactNode } } | undefined;
  const text = textOf(code?.props?.children).replace(/\n$/, '');
  const language = /language-(\S+)/.exec(code?.props?.className ?? '')?.[1];
  return <Code text={text} language={language} />;
}

function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join('');
  return typeof node === 'string' || typeof node === 'number' ? String(node) : '';
}

function Table({ children }: { children?: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className="troupe-table" tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

/** Only what a table may have: styles and handlers of the text's author stay out. */
type Cell = { children?: ReactNode; align?: string; style?: { textAlign?: string } };
const aligned = ({ align, style }: Cell) => {
  const side = style?.textAlign ?? align;
  return side === 'right' || side === 'center' ? { style: { textAlign: side } as const } : {};
};

type Inner = { children?: ReactNode };
const components = {
  a: Link,
  img: ({ src, alt }: { src?: string | Blob; alt?: string }) => (
    <Picture src={typeof src === 'string' ? src : null} alt={alt} />
  ),
  pre: Block,
  code: ({ children, className }: Inner & { className?: string }) => (
    <code className={className}>{children}</code>
  ),
  table: Table,
  thead: ({ children }: Inner) => <thead>{children}</thead>,
  tbody: ({ children }: Inner) => <tbody>{children}</tbody>,
  tr: ({ children }: Inner) => <tr>{children}</tr>,
  th: (cell: Cell) => <th {...aligned(cell)}>{cell.children}</th>,
  td: (cell: Cell) => <td {...aligned(cell)}>{cell.children}</td>,
  // Headings of a message must not stand among those of the page.
  h1: ({ children }: Inner) => <p className="troupe-heading troupe-heading-1">{children}</p>,
  h2: ({ children }: Inner) => <p className="troupe-heading troupe-heading-2">{children}</p>,
  h3: ({ children }: Inner) => <p className="troupe-heading troupe-heading-3">{children}</p>,
  h4: ({ children }: Inner) => <p className="troupe-heading troupe-heading-3">{children}</p>,
  h5: ({ children }: Inner) => <p className="troupe-heading troupe-heading-3">{children}</p>,
  h6: ({ children }: Inner) => <p className="troupe-heading troupe-heading-3">{children}</p>,
  p: ({ children }: Inner) => <p>{children}</p>,
  ul: ({ children, className }: Inner & { className?: string }) => <ul className={className}>{children}</ul>,
  ol: ({ children, start }: Inner & { start?: number }) => <ol start={start}>{children}</ol>,
  li: ({ children, className }: Inner & { className?: string }) => <li className={className}>{children}</li>,
  input: ({ checked }: { checked?: boolean }) => (
    <input
      type="checkbox"
      checked={Boolean(checked)}
      readOnly
      disabled
      aria-label={checked ? 'Done' : 'To do'}
    />
  ),
  blockquote: ({ children }: Inner) => <blockquote>{children}</blockquote>,
  hr: () => <hr />,
  strong: ({ children }: Inner) => <strong>{children}</strong>,
  sup: ({ children }: Inner) => <sup>{children}</sup>,
  sub: ({ children }: Inner) => <sub>{children}</sub>,
  section: ({ children }: Inner) => <div className="troupe-footnotes">{children}</div>,
} as Components;
