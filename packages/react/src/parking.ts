// Browsers open six connections to a server over HTTP/1.1, for all tabs together, and every stream keeps one. A page that nobody has looked at for a
// while gives its streams back; whoever comes back to it sees what was there, and a moment later what has happened since.

interface Parked {
  /** Give the connection back. False: it is needed, ask again later. */
  park(): boolean;
  unpark(): void;
}

/** Looking at another tab for a moment costs nothing. */
const HIDDEN_MS = 15_000;

const open = new Set<Parked>();
const parked = new Set<Parked>();
let timer: ReturnType<typeof setTimeout> | undefined;
let isListening = false;

/** Until the end that it answers with: `park` when nobody looks at the page, `unpark` when somebody does again. */
export function parkWhileHidden(one: Parked): () => void {
  open.add(one);
  if (!isListening && typeof document !== 'undefined') {
    isListening = true;
    document.addEventListener('visibilitychange', arrange);
  }
  arrange();
  return () => {
    open.delete(one);
    parked.delete(one);
  };
}

function arrange(): void {
  if (typeof document === 'undefined') return;
  if (document.visibilityState === 'hidden') {
    if (timer === undefined) timer = setTimeout(parkAll, HIDDEN_MS);
    return;
  }
  clearTimeout(timer);
  timer = undefined;
  for (const one of [...parked]) {
    parked.delete(one);
    one.unpark();
  }
}

function parkAll(): void {
  timer = undefined;
  for (const one of open) if (!parked.has(one) && one.park()) parked.add(one);
  if (parked.size < open.size) timer = setTimeout(parkAll, HIDDEN_MS);
}
