import { setTimeout as delay } from 'node:timers/promises';
import { Hono } from 'hono';

/** Where the process is in its life. */
export type Phase = 'starting' | 'ready' | 'draining';

export interface HealthOptions {
  version: string;
  phase(): Phase;
  /** Rejects where the database does not answer. */
  checkDatabase(): Promise<void>;
}

const PATIENCE_MS = 1_000;

/** `/healthz`: may this process be sent work? `/readyz`: and can it do any, that is, does the database answer? */
export function healthRoutes({ version, phase, checkDatabase }: HealthOptions): Hono {
  const routes = new Hono();
  const database = shared(() => withinPatience(checkDatabase()));
  routes.use(async (context, next) => {
    await next();
    context.header('cache-control', 'no-store');
  });
  routes.get('/healthz', (context) => {
    const now = phase();
    return now === 'ready' ? context.json({ status: 'ok', version }) : context.json({ status: now }, 503);
  });
  routes.get('/readyz', async (context) => {
    const now = phase();
    if (now !== 'ready') return context.json({ status: now }, 503);
    return (await database())
      ? context.json({ status: 'ok', version })
      : context.json({ status: 'no_database' }, 503);
  });
  return routes;
}

/** One question at a time: while the database is away, questions must not queue up for its connections. */
function shared<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let asking: Promise<Answer> | null = null;
  return () => {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

async function withinPatience(check: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const answered = check.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, delay(PATIENCE_MS, false, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
