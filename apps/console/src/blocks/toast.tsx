import { useEffect, useSyncExternalStore } from 'react';
import { cx } from './cx.ts';

interface Toast {
  id: number;
  tone: 'good' | 'bad' | 'info';
  text: string;
}

let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(change: (list: Toast[]) => Toast[]): void {
  toasts = change(toasts);
  for (const listener of listeners) listener();
}

/** Says what became of something, at the edge of the page, for a few seconds. */
export function say(text: string, tone: Toast['tone'] = 'good'): void {
  const id = next++;
  set((list) => [...list.slice(-3), { id, tone, text }]);
}

/** The words of an error, said. */
export function sayError(error: unknown): void {
  say(error instanceof Error ? error.message : String(error), 'bad');
}

export function Toasts() {
  const list = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {list.map((toast) => (
        <Shown key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function Shown({ toast }: { toast: Toast }) {
  const gone = () => set((list) => list.filter(({ id }) => id !== toast.id));
  useEffect(() => {
    const timer = setTimeout(
      () => set((list) => list.filter(({ id }) => id !== toast.id)),
      toast.tone === 'bad' ? 9_000 : 4_000,
    );
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <button
      type="button"
      onClick={gone}
      className={cx(
        'pointer-events-auto rounded-md border border-line bg-raised px-3 py-2 text-left text-sm shadow-high',
        toast.tone === 'bad' && 'text-bad',
        toast.tone === 'good' && 'text-text',
        toast.tone === 'info' && 'text-info',
      )}
    >
      {toast.text}
    </button>
  );
}
