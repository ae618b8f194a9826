import net from 'node:net';

/** How a link treats the connections that go through it. */
export type LinkState = 'open' | 'slow' | 'stalled' | 'refusing';

/** A TCP proxy between one process and its database, which can cut, delay, stall and half-close connections. */
export class Link {
  readonly #target: { host: string; port: number };
  readonly #pairs = new Set<{ client: net.Socket; upstream: net.Socket }>();
  readonly #server: net.Server;
  #state: LinkState = 'open';
  #delayMs = 0;

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = net.createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  static async open(url: string): Promise<Link> {
    const { hostname, port } = new URL(url);
    const link = new Link({ host: hostname, port: Number(port) });
    await new Promise<void>((listening) => link.#server.listen(0, '127.0.0.1', listening));
    return link;
  }

  /** The same database, reached through this link. */
  via(url: string): string {
    const through = new URL(url);
    through.host = `127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
    return through.href;
  }

  /** Every chunk is delayed by so much, in both directions and in order. */
  slow(delayMs: number): void {
    this.#state = 'slow';
    this.#delayMs = delayMs;
  }

  /** Nothing passes, and nothing is closed: a partition. */
  stall(): void {
    this.#state = 'stalled';
    for (const { client, upstream } of this.#pairs) {
      client.pause();
      upstream.pause();
    }
  }

  /** New connections are closed at once. */
  refuse(): void {
    this.#state = 'refusing';
    this.cut();
  }

  heal(): void {
    this.#state = 'open';
    this.#delayMs = 0;
    for (const { client, upstream } of this.#pairs) {
      client.resume();
      upstream.resume();
    }
  }

  /** Closes connections with a reset, so that requests under way lose their answer. Answers how many. */
  cut(choose: () => boolean = () => true): number {
    const chosen = [...this.#pairs].filter(choose);
    for (const { client, upstream } of chosen) {
      client.resetAndDestroy();
      upstream.destroy();
    }
    return chosen.length;
  }

  /** Ends the direction towards the process and leaves the other one open. */
  halfClose(choose: () => boolean = () => true): number {
    const chosen = [...this.#pairs].filter(choose);
    for (const { client, upstream } of chosen) {
      upstream.removeAllListeners('data');
      upstream.resume();
      client.end();
    }
    return chosen.length;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #accept(client: net.Socket): void {
    client.on('error', () => {});
    if (this.#state === 'refusing') {
      client.resetAndDestroy();
      return;
    }
    const upstream = net.connect({ ...this.#target, allowHalfOpen: true });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    this.#pump(client, upstream);
    this.#pump(upstream, client);
    if (this.#state === 'stalled') {
      client.pause();
      upstream.pause();
    }
    upstream.on('error', () => client.destroy());
    for (const socket of [client, upstream])
      socket.on('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        upstream.destroy();
      });
  }

  #pump(from: net.Socket, to: net.Socket): void {
    let last: Promise<unknown> | null = null;
    const write = (data: Buffer | null) => {
      if (to.destroyed) return;
      if (data === null) to.end();
      else if (!to.write(data)) {
        from.pause();
        to.once('drain', () => {
          if (this.#state !== 'stalled') from.resume();
        });
      }
    };
    const pass = (data: Buffer | null) => {
      if (this.#state !== 'slow' && last === null) {
        write(data);
        return;
      }
      const delay = new Promise((resolve) => setTimeout(resolve, this.#delayMs));
      const turn: Promise<unknown> = Promise.all([last, delay]).then(() => {
        write(data);
        if (last === turn) last = null;
      });
      last = turn;
    };
    from.on('data', pass);
    from.on('end', () => pass(null));
  }
}
