import { randomBytes } from 'node:crypto';
import { createModels, type Logger } from '@troupe/server';
import {
  createSessionsDoor,
  McpConnections,
  mcpServers,
  openOutgoing,
  secretsOf,
} from '@troupe/server/parts';
import type { KernelParts } from '@troupe/testing';
import type { Hono } from 'hono';
import { silentLogger } from '../src/base/index.ts';
import { readConfig } from '../src/config/index.ts';
import { createApp, type Services } from '../src/http/index.ts';
import { Life } from '../src/process/life.ts';
import { openServices, type Program } from '../src/process/program.ts';
import { ProviderRows } from '../src/process/provider-rows.ts';

/** What `serve` answers requests with, on a fixture and without a port. */
export async function openHttpSide(
  { db, kernel }: Pick<KernelParts, 'db' | 'kernel'>,
  logger: Logger = silentLogger,
): Promise<{ services: Services; app: Hono }> {
  const outgoing = openOutgoing(() => db);
  const mcp = new McpConnections({ outgoing });
  const program: Program = {
    name: 'serve',
    version: '0',
    config: readConfig({ TROUPE_ENCRYPTION_KEY: `v1:${randomBytes(32).toString('base64')}` }),
    logger: silentLogger,
    life: new Life(silentLogger),
    doors: (on) => [createSessionsDoor(on)],
    models: createModels({}),
    providers: new ProviderRows(),
    outgoing,
    place: { origins: [], database: db },
    tools: () => ({ resolve: () => undefined }),
    mcp: (on, encryption) => mcpServers({ secrets: secretsOf(on, encryption), mcp }),
    functions: new Map(),
    tasks: {},
    crontab: [],
  };
  const services = await openServices(program, db, kernel);
  const app = createApp({
    logger,
    health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
    services: () => services,
  });
  return { services, app };
}
