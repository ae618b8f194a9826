import { Hono } from 'hono';
import type { DatabaseShortage } from '../../store/index.ts';
import { shared, withinPatience } from '../shared.ts';

/** Where the process is in its life. `waiting`: it starts, and the database does not answer yet. */
export type Phase = 'starting' | 'waiting' | 'ready' | 'draining';

export interface HealthOptions {
  version: string;
  phase(): Phase;
  /** Rejects where the database does not answer; null where it can be written to, else why not. */
  checkDatabase(): Promise<DatabaseShortage | null>;
}

/**
 * `/healthz`: is this process in order? One that waits for its database is: to start it anew would not help. `/readyz`: and can it do any work,
 * that is, does the database answer and take writes?
 */
export function healthRoutes({ version, phase, checkDatabase }: HealthOptions): Hono {
  const routes = new Hono();
  const database = shared(() => withinPatience(checkDatabase().then((shortage) => shortage ?? 'ok')));
  routes.use(async (context, next) => {
    await next();
    context.header('cache-control', 'no-store');
  });
  routes.get('/healthz', (context) => {
    const now = phase();
    if (now === 'ready') return context.json({ status: 'ok', version });
    return context.json({ status: now }, now === 'waiting' ? 200 : 503);
  });
  routes.get('/readyz', async (context) => {
    const now = phase();
    if (now === 'waiting') return context.json({ status: 'no_database' }, 503);
    if (now !== 'ready') return context.json({ status: now }, 503);
    const found = (await database()) ?? 'no_database';
    return found === 'ok' ? context.json({ status: 'ok', version }) : context.json({ status: found }, 503);
  });
  return routes;
}
