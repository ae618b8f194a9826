import { pause } from './transport.ts';

interface Events {
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
}

/** Hears when the browser says that it is online again, until the answered function is called. Outside of browsers, never. */
export function onOnline(listener: () => void): () => void {
  const { addEventListener, removeEventListener } = globalThis as Events;
  addEventListener?.('online', listener);
  return () => removeEventListener?.('online', listener);
}

/** The pause, or until the browser says that it is online again, or until the signal: whoever waits looks at it. */
export async function pauseOrOnline(ms: number, signal?: AbortSignal): Promise<void> {
  const early = new AbortController();
  const forget = onOnline(() => early.abort());
  await pause(ms, signal ? AbortSignal.any([signal, early.signal]) : early.signal).catch(() => {});
  forget();
}
