import type { Delivery, DeliveryDetails, Trigger } from '@troupe/protocol';
import type { ServerOptions } from '@troupe/testing';
import { until } from '@troupe/testing';
import { Web } from '../outgoing/web.ts';
import { type Person, SyncFixture } from '../sync/fixture.ts';

/** A Troupe whose project may reach one receiver on this machine, and what tests of triggers ask of both. */
export class TriggerFixture {
  readonly sync: SyncFixture;
  readonly web: Web;

  private constructor(sync: SyncFixture, web: Web) {
    this.sync = sync;
    this.web = web;
  }

  static async open(options: Partial<ServerOptions> = {}): Promise<TriggerFixture> {
    const sync = await SyncFixture.open({ triggers: true, script: () => ({ text: 'Yes.' }), ...options });
    const web = await Web.open();
    await sync.server.db.pool.query(`update troupe.projects set outgoing = $2 where id = $1`, [
      sync.project,
      JSON.stringify({ allow: [`127.0.0.1:${web.port}`] }),
    ]);
    return new TriggerFixture(sync, web);
  }

  get pool() {
    return this.sync.server.db.pool;
  }

  hook(path = '/'): string {
    return `http://127.0.0.1:${this.web.port}${path}`;
  }

  /** A rule over sessions with this title, with what is given instead. */
  rule(name: string, given: object = {}): Promise<Trigger> {
    return this.done('POST', '/v1/triggers', {
      name,
      collection: 'sessions',
      events: ['create'],
      condition: `event.document.title == '${name}'`,
      action: { type: 'webhook', url: this.hook(`/${name}`) },
      retry: { maxAttempts: 3, initialBackoffMs: 10, maxBackoffMs: 20 },
      ...given,
    });
  }

  done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    return this.sync.done(this.sync.key, method, path, body);
  }

  ask(method: string, path: string, body?: unknown) {
    return this.sync.ask(this.sync.key, method, path, body);
  }

  async deliveries(trigger: string, query = ''): Promise<Delivery[]> {
    return (await this.done<{ data: Delivery[] }>('GET', `/v1/deliveries?trigger=${trigger}${query}`)).data;
  }

  /** The first delivery of a rule, once it has ended. */
  async ended(trigger: string, status: 'delivered' | 'dead'): Promise<DeliveryDetails> {
    const one = await until(`${trigger} ${status}`, async () =>
      (await this.deliveries(trigger)).find((delivery) => delivery.status === status),
    );
    return this.done('GET', `/v1/deliveries/${one.id}`);
  }

  heard(path: string) {
    return this.web.heard.filter(({ url }) => url === path);
  }

  async retitle(person: Person, session: string, title: string): Promise<void> {
    await this.sync.done(person.headers, 'PATCH', `${this.sync.sessions}/${session}`, { title });
  }

  async count(table: string): Promise<number> {
    return (await this.pool.query(`select count(*) as n from troupe.${table}`)).rows[0].n;
  }

  async close(): Promise<void> {
    await this.sync.close();
    await this.web.close();
  }
}
