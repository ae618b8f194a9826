import { useEffect, useState } from 'react';
import { classes } from './classes.ts';
import { CheckIcon, CopyIcon } from './icons.tsx';

export interface CopyButtonProps {
  /** What is copied; a function is asked when it is. */
  text: string | (() => string);
  /** What it is called. Default: Copy. */
  label?: string | undefined;
  /** Show the label beside the icon. */
  labelled?: boolean | undefined;
  className?: string | undefined;
}

export function CopyButton({ text, label = 'Copy', labelled, className }: CopyButtonProps) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(setState, 1_600, 'ready');
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    const isCopied = await write(typeof text === 'string' ? text : text());
    setState(isCopied ? 'copied' : 'refused');
  };
  const words = { ready: label, copied: 'Copied', refused: 'Could not copy' }[state];
  return (
    <button
      type="button"
      className={classes('troupe-button troupe-button-quiet', !labelled && 'troupe-button-icon', className)}
      aria-label={words}
      title={words}
      data-state={state}
      onClick={copy}
    >
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
      {labelled && <span>{words}</span>}
    </button>
  );
}

/** Pages that are served without TLS have no clipboard but the old command. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.style.position = 'fixed';
    field.style.opacity = '0';
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}
