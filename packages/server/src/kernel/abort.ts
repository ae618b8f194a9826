/** The promise, or the signal's reason as soon as it is aborted: for work that may not listen to the signal itself. */
export function orAborted<Value>(work: Promise<Value> | Value, signal: AbortSignal): Promise<Value> | Value {
  if (!(work instanceof Promise)) return work;
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}
