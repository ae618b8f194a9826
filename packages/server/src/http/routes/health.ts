import { Hono } from 'hono';
import { shared, withinPatience } from '../shared.ts';

/** Where the process is in its life. */
export type Phase = 'starting' | 'ready' | 'draining';

export interface HealthOptions {
  version: string;
  phase(): Phase;
  /** Rejects where the database does not answer. */
  checkDatabase(): Promise<void>;
}

/** `/healthz`: may this process be sent work? `/readyz`: and can it do any, that is, does the database answer? */
export function healthRoutes({ version, phase, checkDatabase }: HealthOptions): Hono {
  const routes = new Hono();
  const database = shared(() => withinPatience(checkDatabase().then(() => true)));
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
