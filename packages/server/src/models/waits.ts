// Every wait ends at once, with the signal's own reason, when the signal aborts, and leaves no timer or listener.

const LONGEST_TIMER_MS = 2 ** 31 - 1; // beyond it setTimeout fires at once

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', abort);
        resolve();
      },
      Math.min(ms, LONGEST_TIMER_MS),
    );
    signal.addEventListener('abort', abort, { once: true });
  });
}

export function until<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const settled = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    // Attached in any case: a promise that rejects after the abort must not become an unhandled rejection.
    promise.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error) => {
        settled();
        reject(error);
      },
    );
  });
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return until(new Promise<never>(() => {}), signal);
}
