import { Check, Copy } from 'lucide-react';
import { useRef, useState } from 'react';
import { Button } from './button.tsx';

/** A text that is to be taken elsewhere, such as a key that is shown once. */
export function CopyText({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages without TLS have the old command only.
      document.execCommand('copy');
    }
    setCopied(true);
  };
  return (
    <div className="flex min-w-0 items-center gap-2">
      <input
        ref={field}
        readOnly
        aria-label={label}
        value={text}
        onFocus={({ target }) => target.select()}
        className="h-8 min-w-0 flex-1 rounded-md border border-line-strong bg-sunken px-2.5 font-mono text-xs"
      />
      <Button
        onClick={() => void copy()}
        icon={copied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      >
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
