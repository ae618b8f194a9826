/** What is sent next; null: nothing any more. */
export interface Source {
  next(): Promise<Uint8Array | null>;
  isDone(): boolean;
  /** Called once nothing more is wanted or there; may be called again. */
  close(): void;
}

/** A response that is read from its source when its socket has room, and never before: who does not read costs nothing but his place. */
export function pulled({ next, isDone, close }: Source): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const bytes = await next();
        if (bytes) controller.enqueue(bytes);
        if (bytes && !isDone()) return;
        close();
        try {
          controller.close();
        } catch {
          // the other side was faster
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
