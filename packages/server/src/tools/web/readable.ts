import { lazy } from '../../base/index.ts';

const htmlparser = lazy<typeof import('htmlparser2')>('htmlparser2');

/** What no reader of the page sees, and what leads around it. */
const UNSEEN = new Set(
  'script style noscript template svg math nav iframe object embed canvas audio video select datalist dialog head'.split(
    ' ',
  ),
);
const PARAGRAPHS = new Set(
  'p ul ol dl table blockquote pre h1 h2 h3 h4 h5 h6 article section main figure form'.split(' '),
);
const LINES = new Set(
  'div li tr dt dd br header footer aside address figcaption fieldset details summary caption'.split(' '),
);
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden/i;

const PIECE = 16_384;
const DEEPEST = 2_000;

export interface ReadableOptions {
  /** What links are relative to. */
  url: string;
  as: 'markdown' | 'text';
  /** Where to stop writing, in characters. */
  most: number;
}

/**
 * A page as a person reads it. Written while the page is parsed: whatever the page is nested like, this takes one pass and as
 * much memory as its text.
 */
export function readable(
  html: string,
  options: ReadableOptions,
): { title: string; text: string; cut: boolean } {
  const page = new Page(options);
  const parser = new (htmlparser().Parser)({
    onopentag: (name, attributes) => page.open(name, attributes),
    onclosetag: (name) => page.close(name),
    ontext: (text) => page.text(text),
  });
  // In pieces, so that it can end early: where enough was written, and where it is nested as no page for people is. The parser
  // takes time with the square of the depth.
  for (let at = 0; at < html.length && !page.full; at += PIECE) parser.write(html.slice(at, at + PIECE));
  parser.end();
  return page.end();
}

class Page {
  readonly #markdown: boolean;
  readonly #most: number;
  #base: string;
  #parts: string[] = [];
  #length = 0;
  #cut = false;
  #title = '';
  #inTitle = false;
  /** For each open element: whether it hides what is in it. */
  #hiding: boolean[] = [];
  #unseen = 0;
  #lists: { ordered: boolean; items: number }[] = [];
  #quotes = 0;
  #pre = 0;
  #tables = 0;
  #rows = 0;
  #cells = 0;
  #inCell = 0;
  #link: string | null = null;
  /** What is to be written before the next text: line ends, and marks that nothing may follow. */
  #breaks = 0;
  #opened: string[] = [];
  /** Whether the line has no text yet, or ends with a space. */
  #spaced = true;
  /** A mark such as "- " was just written: what follows stays on its line. */
  #marked = false;

  constructor({ url, as, most }: ReadableOptions) {
    this.#base = url;
    this.#markdown = as === 'markdown';
    this.#most = most;
  }

  get full(): boolean {
    if (this.#hiding.length > DEEPEST) this.#cut = true;
    return this.#cut;
  }

  open(name: string, attributes: Record<string, string>): void {
    if (name === 'title' && this.#title === '') this.#inTitle = true;
    if (name === 'base') this.#base = this.#absolute(attributes.href) ?? this.#base;
    const hidden =
      UNSEEN.has(name) ||
      'hidden' in attributes ||
      attributes['aria-hidden'] === 'true' ||
      HIDDEN.test(attributes.style ?? '');
    this.#hiding.push(hidden);
    if (hidden) this.#unseen++;
    if (this.#unseen > 0) return;
    this.#break(name);
    switch (name) {
      case 'h1':
      case 'h2':
      case 'h3':
      case 'h4':
      case 'h5':
      case 'h6':
        if (this.#markdown) this.#opened.push(`${'#'.repeat(Number(name[1]))} `);
        break;
      case 'ul':
      case 'ol':
        this.#lists.push({ ordered: name === 'ol', items: 0 });
        break;
      case 'li': {
        const list = this.#lists.at(-1);
        if (list) list.items++;
        this.#mark(
          '  '.repeat(Math.min(20, Math.max(0, this.#lists.length - 1))) +
            (list?.ordered ? `${list.items}. ` : '- '),
        );
        break;
      }
      case 'blockquote':
        this.#quotes++;
        break;
      case 'pre':
        this.#pre++;
        if (this.#pre === 1 && this.#markdown) this.#mark('```\n');
        break;
      case 'code':
        if (this.#pre === 0 && this.#markdown) this.#opened.push('`');
        break;
      case 'hr':
        if (this.#markdown) this.#paragraphs(() => this.#mark('---'));
        break;
      case 'table':
        this.#tables++;
        if (this.#tables === 1) this.#rows = 0;
        break;
      case 'tr':
        if (this.#tables === 1) this.#cells = 0;
        break;
      case 'td':
      case 'th':
        if (this.#tables !== 1) break;
        this.#cells++;
        this.#mark(this.#markdown ? '| ' : this.#cells > 1 ? '\t' : '');
        this.#inCell++;
        break;
      case 'a':
        if (this.#link !== null || !this.#markdown) break;
        this.#link = this.#absolute(attributes.href);
        if (this.#link !== null) this.#opened.push('[');
        break;
      case 'img': {
        const source = this.#absolute(attributes.src);
        if (this.#markdown && attributes.alt?.trim() && source !== null && this.#link === null) {
          this.text(`![${attributes.alt.trim()}](${source})`);
        }
        break;
      }
    }
  }

  close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    const wasUnseen = this.#unseen > 0;
    if (this.#hiding.pop()) this.#unseen--;
    if (wasUnseen) return;
    switch (name) {
      case 'ul':
      case 'ol':
        this.#lists.pop();
        break;
      case 'blockquote':
        this.#quotes = Math.max(0, this.#quotes - 1);
        break;
      case 'pre':
        if (this.#pre === 1 && this.#markdown) this.#write('\n```');
        this.#pre = Math.max(0, this.#pre - 1);
        break;
      case 'code':
        if (this.#pre === 0 && this.#markdown) this.#shut('`', '`');
        break;
      case 'td':
      case 'th':
        if (this.#inCell > 0 && this.#tables === 1) {
          this.#inCell--;
          this.#marked = false;
          if (this.#markdown) this.#write(' ');
        }
        break;
      case 'tr':
        if (this.#tables === 1 && this.#cells > 0 && this.#markdown) {
          this.#write('|');
          if (this.#rows++ === 0) this.#write(`\n${'|---'.repeat(Math.min(this.#cells, 200))}|`);
        }
        break;
      case 'table':
        this.#tables = Math.max(0, this.#tables - 1);
        break;
      case 'a':
        if (this.#link !== null) {
          this.#shut('[', `](${this.#link})`);
          this.#link = null;
        }
        break;
    }
    if (/^h[1-6]$/.test(name)) this.#opened = this.#opened.filter((mark) => !mark.startsWith('#'));
    this.#break(name);
  }

  text(text: string): void {
    if (this.#inTitle) this.#title = (this.#title + text).slice(0, 500);
    if (this.#unseen > 0) return;
    if (this.#pre > 0) {
      if (text !== '') this.#write(text);
      return;
    }
    let plain = text.replace(/\s+/g, ' ');
    if (this.#spaced || this.#breaks > 0) plain = plain.trimStart();
    if (plain === '') return;
    this.#write(plain);
    this.#spaced = plain.endsWith(' ');
  }

  end(): { title: string; text: string; cut: boolean } {
    const lines = this.#parts.join('').split('\n');
    const text = lines
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
    return { title: this.#title.replace(/\s+/g, ' ').trim(), text, cut: this.#cut };
  }

  /** Marks are written with the text that they are for; where there was none, they were for nothing. */
  #shut(open: string, close: string): void {
    const at = this.#opened.lastIndexOf(open);
    if (at >= 0) this.#opened.splice(at, 1);
    else this.#write(close);
  }

  #break(name: string): void {
    const lines = PARAGRAPHS.has(name) ? 2 : LINES.has(name) ? 1 : 0;
    if (lines === 0) return;
    // A link, a heading or a cell is one line.
    if (this.#link !== null || this.#inCell > 0) {
      if (!this.#spaced) this.text(' ');
      return;
    }
    if (this.#marked && name !== 'li' && name !== 'tr') return;
    this.#breaks = Math.max(this.#breaks, this.#lists.length > 0 && name !== 'pre' ? 1 : lines);
  }

  #paragraphs(write: () => void): void {
    this.#breaks = 2;
    write();
    this.#marked = false;
    this.#breaks = 2;
  }

  #mark(mark: string): void {
    this.#write(mark);
    this.#marked = true;
    this.#spaced = true;
  }

  #write(text: string): void {
    if (this.#length >= this.#most) {
      this.#cut = true;
      return;
    }
    const before =
      this.#breaks > 0 && this.#length > 0
        ? '\n'.repeat(this.#breaks) + (this.#markdown ? '> '.repeat(Math.min(20, this.#quotes)) : '')
        : '';
    const whole = (before + this.#opened.join('') + text).slice(0, this.#most - this.#length + 1);
    this.#breaks = 0;
    this.#opened = [];
    this.#marked = false;
    this.#spaced = false;
    this.#parts.push(whole);
    this.#length += whole.length;
  }

  #absolute(address: string | undefined): string | null {
    if (!address || !URL.canParse(address, this.#base)) return null;
    const url = new URL(address, this.#base);
    return /^(https?|mailto):$/.test(url.protocol) ? url.href : null;
  }
}
