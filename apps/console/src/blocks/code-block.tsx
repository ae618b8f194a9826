import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button } from './button.tsx';
import { cx } from './cx.ts';

/** Text that programs read or wrote, as it is, to look at and to copy. */
export function CodeBlock({ text, label, className }: { text: string; label: string; className?: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div className={cx('group relative min-w-0', className)}>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-md border border-line bg-sunken"
      >
        <pre className="p-3 font-mono text-xs leading-relaxed break-words whitespace-pre-wrap">{text}</pre>
      </section>
      <Button
        size="small-icon"
        kind="quiet"
        aria-label={copied ? 'Copied' : `Copy ${label}`}
        className="absolute top-1.5 right-1.5 bg-sunken"
        icon={copied ? <Check size={14} /> : <Copy size={14} />}
        onClick={async () => {
          await navigator.clipboard?.writeText(text).catch(() => {});
          setCopied(true);
          setTimeout(() => setCopied(false), 1_500);
        }}
      />
    </div>
  );
}
