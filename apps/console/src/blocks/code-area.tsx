import { type ComponentProps, useRef } from 'react';
import { cx } from './cx.ts';

/** Text that programs read: monospace, with line numbers; the line of an error is marked. Tab leaves it, as any other field. */
export function CodeArea({
  value,
  onChange,
  errorLine = null,
  rows = 8,
  mostRows = 30,
  className,
  ...rest
}: Omit<ComponentProps<'textarea'>, 'value' | 'onChange' | 'rows'> & {
  value: string;
  onChange: (value: string) => void;
  /** Counted from 1. */
  errorLine?: number | null;
  rows?: number;
  mostRows?: number;
}) {
  const numbers = useRef<HTMLDivElement>(null);
  const count = value.split('\n').length;
  const shown = Math.min(Math.max(rows, count), mostRows);
  return (
    <div
      className={cx(
        'flex min-w-0 overflow-hidden rounded-md border border-line-strong bg-surface font-mono text-xs leading-5 focus-within:border-accent has-aria-invalid:border-bad',
        className,
      )}
    >
      <div
        ref={numbers}
        aria-hidden="true"
        className="shrink-0 overflow-hidden border-r border-line bg-sunken py-2 text-right text-faint tabular-nums select-none"
        style={{ height: `${shown * 20 + 16}px` }}
      >
        {Array.from({ length: count }, (_, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            key={index}
            className={cx('min-w-8 px-2', index + 1 === errorLine && 'bg-bad-soft font-semibold text-bad')}
          >
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        {...rest}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onScroll={({ currentTarget }) => {
          if (numbers.current) numbers.current.scrollTop = currentTarget.scrollTop;
        }}
        className="min-w-0 flex-1 resize-none overflow-auto bg-transparent px-2.5 py-2 text-text outline-none placeholder:text-faint focus-visible:shadow-none"
        style={{ height: `${shown * 20 + 16}px` }}
      />
    </div>
  );
}

/** Where JSON is broken, as far as the browser tells: line and sentence. Null where it can be read. */
export function jsonProblem(text: string): { message: string; line: number | null } | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const line = /line (\d+)/.exec(message)?.[1];
    const position = /position (\d+)/.exec(message)?.[1];
    return {
      message: `This is no JSON: ${message}`,
      line: line
        ? Number(line)
        : position
          ? text.slice(0, Number(position)).split('\n').length
          : text.split('\n').length,
    };
  }
}
