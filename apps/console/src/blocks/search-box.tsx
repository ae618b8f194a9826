import { Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { cx } from './cx.ts';
import { Input } from './field.tsx';

/** Tells what is searched for a moment after the last key. */
export function SearchBox({
  value,
  onSearch,
  label,
  className,
}: {
  value: string;
  onSearch: (value: string) => void;
  label: string;
  className?: string;
}) {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useEffect(() => {
    // From elsewhere, such as the back button.
    if (value !== told.current) {
      told.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === told.current) return;
    const timer = setTimeout(() => {
      told.current = text.trim();
      latest.current(text.trim());
    }, 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className={cx('relative min-w-0', className)}>
      <Search
        size={14}
        aria-hidden="true"
        className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
      />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={200}
        value={text}
        onChange={({ target }) => setText(target.value)}
        className="pl-8"
      />
    </div>
  );
}
