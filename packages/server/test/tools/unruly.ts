import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Heard {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What to do, by the first part of the path. */
const ways: Record<string, (response: ServerResponse, heard: Heard) => void> = {
  echo: (response, heard) => json(response, heard),
  fail: (response) => json(response, { why: 'out of order' }, 500),
  hang: () => {},
  huge: (response) => flood(response, 'application/json', '['),
  'huge-text': (response) => flood(response, 'text/plain', ''),
  html: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>');
  },
  picture: (response) => {
    response
      .writeHead(200, { 'content-type': 'image/png' })
      .end(Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'));
  },
  image: (response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([137, 80, 78, 71, 0, 255]));
  },
  broken: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"half": ');
  },
  deep: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(1e5) + ']'.repeat(1e5));
  },
  nothing: (response) => {
    response.writeHead(204).end();
  },
  away: (response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end();
  },
  nowhere: (response) => {
    response.writeHead(302, { location: 'http://' }).end();
  },
  drop: (response) => {
    response.destroy();
  },
  /** Says everything it was told, in every form, as what was asked for: `?status=500&type=text/plain`. */
  gossip: (response, heard) => {
    const query = new URL(heard.url, 'http://h').searchParams;
    const told = [
      heard.url,
      heard.body,
      ...Object.values(heard.headers).map(String),
      decodeURIComponent(heard.url),
      Buffer.from(`me:${heard.headers['x-key']}`).toString('base64'),
      Buffer.from(`${heard.headers['x-key']}`).toString('base64url'),
      Buffer.from(String(heard.headers.authorization).replace('Basic ', ''), 'base64').toString(),
    ];
    const type = query.get('type') ?? 'application/json';
    const text = type.includes('json') ? JSON.stringify({ told, [told.at(-1)!]: 1 }) : told.join('\n');
    response
      .writeHead(Number(query.get('status') ?? 200), {
        'content-type': type,
        'x-told': encodeURIComponent(heard.url),
      })
      .end(text);
  },
};

/** A server on loopback that behaves as badly as it is asked to, and remembers what it was sent. */
export async function openUnruly() {
  const heard: Heard[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      heard.push(one);
      const [, way = ''] = url.split(/[/?]/);
      if (way === 'later') waiting.push(() => ways.echo!(response, one));
      else (ways[way] ?? ((answer: ServerResponse) => json(answer, { way }, 404)))(response, one);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    allow: [`127.0.0.1:${port}`],
    heard,
    /** Answers what was asked for at `/later`. */
    answer: () => {
      for (const go of waiting.splice(0)) go();
    },
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Fifty megabytes, as fast as they are taken. */
function flood(response: ServerResponse, type: string, first: string): void {
  response.writeHead(200, { 'content-type': type });
  response.write(first);
  const chunk = '"é0123456789",'.repeat(5_000);
  let left = 50 * 1024 * 1024;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      if (!response.write(chunk)) return void response.once('drain', more);
    }
    response.end();
  };
  more();
}
