/** A text with its escapes undone, and where each of its letters stands in the text as it was given. */
export interface Layer {
  text: string;
  startOf(index: number): number;
  endOf(index: number): number;
}

/** Texts within texts within texts; nobody means more by it. */
const MOST_LAYERS = 8;

const ESCAPE =
  /\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\x([0-9a-fA-F]{2})|\\([^ux])|((?:%[0-9a-fA-F]{2})+)|&#(\d{1,7});?|&#[xX]([0-9a-fA-F]{1,6});?|&([a-zA-Z]{2,7});/g;

/** One that the end of a text cut in two, or the bytes of a letter that may go on. */
const BROKEN_ESCAPE =
  /(?:\\+(?:u\{?[0-9a-fA-F]{0,5}|x[0-9a-fA-F]?)?|(?:%[89a-fA-F][0-9a-fA-F]){0,3}(?:%[0-9a-fA-F]?)?|&#?[0-9a-zA-Z]{0,8})$/;

export function withoutBroken(text: string): string {
  return text.slice(0, text.length - BROKEN_ESCAPE.exec(text.slice(-12))![0].length);
}

const LETTERS: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '0': '\0' };

/** Those of the signs that HTML may write by name. */
const SIGNS: Record<string, string> = {
  amp: '&',
  apos: "'",
  ast: '*',
  bsol: '\\',
  colon: ':',
  comma: ',',
  commat: '@',
  dollar: '$',
  equals: '=',
  excl: '!',
  gt: '>',
  lowbar: '_',
  lt: '<',
  nbsp: ' ',
  num: '#',
  percnt: '%',
  period: '.',
  plus: '+',
  quest: '?',
  quot: '"',
  semi: ';',
  sol: '/',
};

/** The text itself, and below it what it reads as where its escapes are undone, as often as there are any. */
export function layersOf(text: string): Layer[] {
  const layers: Layer[] = [{ text, startOf: (index) => index, endOf: (index) => index + 1 }];
  while (layers.length < MOST_LAYERS) {
    const below = undone(layers.at(-1)!);
    if (below === null) break;
    layers.push(below);
  }
  return layers;
}

function undone(above: Layer): Layer | null {
  const { text } = above;
  const parts: string[] = [];
  // The text never grows.
  const starts = new Int32Array(text.length);
  const ends = new Int32Array(text.length);
  let [size, at] = [0, 0];
  const keep = (until: number) => {
    parts.push(text.slice(at, until));
    for (; at < until; at++, size++) {
      starts[size] = above.startOf(at);
      ends[size] = above.endOf(at);
    }
  };
  const put = (letters: string, length: number) => {
    parts.push(letters);
    for (let index = 0; index < letters.length; index++, size++) {
      starts[size] = above.startOf(at);
      ends[size] = above.endOf(at + length - 1);
    }
    at += length;
  };
  for (const match of text.matchAll(ESCAPE)) {
    const [written, unit, point, byte, letter, bytes, decimal, hex, sign] = match;
    if (sign !== undefined && !Object.hasOwn(SIGNS, sign)) continue;
    keep(match.index);
    if (bytes !== undefined) for (const [letters, length] of lettersOf(bytes)) put(letters, length);
    else if (sign !== undefined) put(SIGNS[sign]!, written.length);
    else if (letter !== undefined) put(LETTERS[letter] ?? letter, written.length);
    else if (decimal !== undefined) put(letterOf(Number(decimal)), written.length);
    else put(letterOf(Number.parseInt((unit ?? point ?? byte ?? hex)!, 16)), written.length);
  }
  if (at === 0) return null;
  keep(text.length);
  return { text: parts.join(''), startOf: (index) => starts[index]!, endOf: (index) => ends[index]! };
}

function letterOf(point: number): string {
  return point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd';
}

/** What bytes like `%C3%A9` stand for, letter by letter, with the length of each there. Those that are no UTF-8 are read as Latin-1. */
function* lettersOf(escapes: string): Generator<[string, number]> {
  const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex');
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!;
    const length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
    const letter = bytes.toString('utf8', at, at + length);
    const isLetter = length > 1 && at + length <= bytes.length && !letter.includes('\ufffd');
    yield isLetter ? [letter, length * 3] : [String.fromCharCode(first), 3];
    at += isLetter ? length : 1;
  }
}
