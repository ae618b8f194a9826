import { setTimeout as delay } from 'node:timers/promises';

/** One question at a time: while the database is away, questions must not queue up for its connections. */
export function shared<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let asking: Promise<Answer> | null = null;
  return () => {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

const PATIENCE_MS = 1_000;

/** Null where it was refused, or took too long. */
export async function withinPatience<Answer>(question: Promise<Answer>): Promise<Answer | null> {
  const timer = new AbortController();
  const answered = question.catch(() => null);
  try {
    return await Promise.race([answered, delay(PATIENCE_MS, null, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
