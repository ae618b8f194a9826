import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { type Made, serverWith, type Told } from './tools-of-server.ts';

/** An MCP server over HTTP: with sessions at /mcp, as the newest revision of the protocol has it at /modern. */
export async function openMcpServer(told: Told = {}) {
  const sessions = new Map<string, Made & { transport: NodeStreamableHTTPServerTransport }>();
  const seen: { method: string; headers: IncomingMessage['headers'] }[] = [];
  const known = () => seen.at(-1)?.headers;
  const inFlight = new Set<IncomingMessage>();
  const misbehave = () => {
    for (const request of inFlight) request.socket.destroy();
  };
  const make = () => serverWith({ known, misbehave, ...told });
  const modern = toNodeHandler(createMcpHandler(() => make().server));
  const http = createServer(async (request, response) => {
    seen.push({ method: request.method!, headers: request.headers });
    inFlight.add(request);
    response.once('close', () => inFlight.delete(request));
    if (request.url === '/hangs') return;
    if (request.url === '/rubbish') return void response.end('<html>hello</html>');
    if (request.url === '/away') {
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' });
      return void response.end();
    }
    if (request.url === '/floods') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const line = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(60_000) } })}\n\n`;
      const more = () => {
        while (!response.destroyed && response.write(line));
        if (!response.destroyed) response.once('drain', more);
      };
      return more();
    }
    if (request.url === '/modern') return void modern(request as Parameters<typeof modern>[0], response);
    const id = request.headers['mcp-session-id'] as string | undefined;
    const session = id === undefined ? undefined : sessions.get(id);
    if (id !== undefined && !session) {
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }),
      );
    }
    if (session) return void session.transport.handleRequest(request, response);
    const made = make();
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (given) => void sessions.set(given, { transport, ...made }),
    });
    await made.server.connect(transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    origin: `http://127.0.0.1:${port}`,
    allow: [`127.0.0.1:${port}`],
    seen,
    sessions,
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
