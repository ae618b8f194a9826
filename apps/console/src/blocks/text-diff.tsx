import { type ReactNode, useMemo, useState } from 'react';
import { cx } from './cx.ts';
import { type Difference, differences, wordsOf } from './differences.ts';

/** Unchanged lines that are shown around a change. */
const AROUND = 3;

interface Line {
  kind: Difference['kind'];
  text: string;
  /** The other side of a line that was changed rather than added or removed. */
  pair?: string;
  before: number | null;
  after: number | null;
}

/** What changed from one text to another, line by line, with the words that differ marked. */
export function TextDiff({
  before,
  after,
  label,
  className,
}: {
  before: string;
  after: string;
  /** What the two texts are: for those who cannot see it. */
  label: string;
  className?: string;
}) {
  const lines = useMemo(() => linesOf(before, after), [before, after]);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  if (before === after)
    return <p className={cx('px-3 py-2 text-sm text-muted', className)}>No difference.</p>;
  return (
    <section
      aria-label={label}
      className={cx('overflow-x-auto rounded-md border border-line bg-surface', className)}
    >
      <table className="w-full border-collapse font-mono text-xs leading-relaxed">
        <caption className="sr-only">{label}</caption>
        <tbody>
          {foldsOf(lines).map((fold) =>
            fold.hidden && !open.has(fold.from) ? (
              <tr key={fold.from} className="bg-sunken">
                <td colSpan={4} className="p-0">
                  <button
                    type="button"
                    className="w-full px-3 py-0.5 text-left font-sans text-2xs text-muted hover:text-text"
                    onClick={() => setOpen(new Set([...open, fold.from]))}
                  >
                    Show {fold.to - fold.from} lines that are the same
                  </button>
                </td>
              </tr>
            ) : (
              lines.slice(fold.from, fold.to).map((line, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name than their place
                <Row key={fold.from + index} line={line} />
              ))
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}

const tones = {
  same: { row: '', word: '', mark: ' ', said: '' },
  gone: {
    row: 'bg-bad-soft',
    word: 'rounded-sm bg-[color-mix(in_srgb,var(--troupe-bad)_26%,transparent)]',
    mark: '−',
    said: 'Removed: ',
  },
  new: {
    row: 'bg-good-soft',
    word: 'rounded-sm bg-[color-mix(in_srgb,var(--troupe-good)_26%,transparent)]',
    mark: '+',
    said: 'Added: ',
  },
};

function Row({ line }: { line: Line }) {
  const tone = tones[line.kind];
  const number = 'w-px px-2 text-right align-top text-faint tabular-nums select-none';
  return (
    <tr className={tone.row}>
      <td className={number}>{line.before}</td>
      <td className={number}>{line.after}</td>
      <td className="w-px px-1 align-top text-muted select-none" aria-hidden="true">
        {tone.mark}
      </td>
      <td className="pr-3 break-words whitespace-pre-wrap">
        {tone.said && <span className="sr-only">{tone.said}</span>}
        {line.pair === undefined ? line.text || ' ' : marked(line, tone.word)}
      </td>
    </tr>
  );
}

function marked({ kind, text, pair }: Line, className: string): ReactNode {
  const found =
    kind === 'gone' ? differences(wordsOf(text), wordsOf(pair!)) : differences(wordsOf(pair!), wordsOf(text));
  // Words beside each other are one change to the eye, and so is the space between them.
  const parts: { isSame: boolean; text: string }[] = [];
  for (const word of found) {
    if (word.kind !== 'same' && word.kind !== kind) continue;
    const last = parts.at(-1);
    const isSame = word.kind === 'same';
    if (last?.isSame === isSame) last.text += word.item;
    else parts.push({ isSame, text: word.item });
  }
  return parts.map((part, index) =>
    part.isSame ? (
      part.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name than their place
      <span key={index} className={className}>
        {part.text}
      </span>
    ),
  );
}

function linesOf(before: string, after: string): Line[] {
  // Nothing has no line, not an empty one.
  const split = (text: string) => (text === '' ? [] : text.split('\n'));
  const found = differences(split(before), split(after));
  const lines: Line[] = [];
  let left = 0;
  let right = 0;
  for (const { kind, item } of found)
    lines.push({
      kind,
      text: item,
      before: kind === 'new' ? null : ++left,
      after: kind === 'gone' ? null : ++right,
    });
  // As many lines gone as come right after: taken as the same lines, changed.
  for (let at = 0; at < lines.length; ) {
    const gone = countOf(lines, at, 'gone');
    const come = countOf(lines, at + gone, 'new');
    if (gone > 0 && gone === come)
      for (let i = 0; i < gone; i++) {
        lines[at + i]!.pair = lines[at + gone + i]!.text;
        lines[at + gone + i]!.pair = lines[at + i]!.text;
      }
    at += Math.max(1, gone + come);
  }
  return lines;
}

function countOf(lines: Line[], from: number, kind: Line['kind']): number {
  let count = 0;
  while (lines[from + count]?.kind === kind) count++;
  return count;
}

/** Stretches to show, and stretches of unchanged lines to fold. */
function foldsOf(lines: Line[]): { from: number; to: number; hidden: boolean }[] {
  const isNear = new Array<boolean>(lines.length).fill(false);
  lines.forEach(({ kind }, index) => {
    if (kind !== 'same')
      isNear.fill(true, Math.max(0, index - AROUND), Math.min(lines.length, index + AROUND + 1));
  });
  const folds: { from: number; to: number; hidden: boolean }[] = [];
  for (let from = 0; from < lines.length; ) {
    let to = from;
    while (to < lines.length && isNear[to] === isNear[from]) to++;
    // One or two lines take no more room than the button.
    folds.push({ from, to, hidden: !isNear[from] && to - from > 2 });
    from = to;
  }
  return folds;
}
