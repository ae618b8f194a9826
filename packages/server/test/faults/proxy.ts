import net from 'node:net';

/**
 * Stands between a program and Postgres and can lose answers: the request goes through and is carried out, and the
 * connection breaks before the answer comes back. From the program's side nobody can tell whether it was written.
 */
export async function openProxy(target: string) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<net.Socket>();
  let lose: (text: string) => boolean = () => false;
  let lost = 0;
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(port), hostname);
    sockets.add(client).add(upstream);
    let losing = false;
    client.on('data', (data) => {
      if (lose(data.toString('latin1'))) losing = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!losing) {
        client.write(data);
        return;
      }
      lost++;
      client.destroy();
      upstream.destroy();
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as net.AddressInfo;
  return {
    via(url: string): string {
      const through = new URL(url);
      through.host = `127.0.0.1:${address.port}`;
      return through.href;
    },
    /** Which requests lose their answer. */
    loseAnswersTo(which: (text: string) => boolean): void {
      lose = which;
    },
    get lost(): number {
      return lost;
    },
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
