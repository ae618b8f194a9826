import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

// What the MCP servers of the tests offer, over HTTP and as a program.

export interface Told {
  /** What the server would rather keep to itself. */
  known?: () => unknown;
  /** In the middle of a call. */
  misbehave?: (how: string) => void;
  canceled?: () => void;
  began?: () => void;
  /** The description of `changing`. */
  description?: () => string;
}

export interface Made {
  server: McpServer;
  /** Changes the description of `changing`, and tells whoever is connected. */
  redescribe(description: string): void;
}

export function serverWith(told: Told = {}): Made {
  const server = new McpServer(
    { name: 'fixture', version: '1.2.3' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: String(value) }] });
  server.registerTool(
    'add',
    {
      title: 'Add two numbers',
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ structuredContent: { sum: a + b }, content: [{ type: 'text', text: String(a + b) }] }),
  );
  server.registerTool('known', { description: 'Tells all.' }, () => text(JSON.stringify(told.known?.())));
  server.registerTool(
    'given',
    {
      inputSchema: z.object({ q: z.string().optional(), tenant: z.string().optional() }),
      annotations: { idempotentHint: true },
    },
    (args, { mcpReq }) => text(JSON.stringify({ args, meta: mcpReq._meta })),
  );
  const changing = server.registerTool('changing', { description: told.description?.() ?? 'As ever.' }, () =>
    text('called'),
  );
  server.registerTool('fails', {}, () => ({
    ...text(`no: ${JSON.stringify(told.known?.())}`),
    isError: true,
  }));
  server.registerTool('throws', {}, () => {
    throw new Error(`broke: ${JSON.stringify(told.known?.())}`);
  });
  server.registerTool('long', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) =>
    text('x'.repeat(bytes)),
  );
  server.registerTool('picture', {}, () => ({
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: Buffer.from('not really').toString('base64') },
      { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'within' } },
      { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
    ],
  }));
  server.registerTool('slow', {}, async ({ mcpReq }) => {
    told.began?.();
    await new Promise<void>((resolve) => mcpReq.signal.addEventListener('abort', () => resolve()));
    told.canceled?.();
    return text('never read');
  });
  server.registerTool('misbehave', { inputSchema: z.object({ how: z.string() }) }, async ({ how }) => {
    told.misbehave?.(how);
    await new Promise(() => {});
    return text('never said');
  });
  return { server, redescribe: (description) => changing.update({ description }) };
}
