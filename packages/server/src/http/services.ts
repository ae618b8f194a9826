import type { Access } from '../access/index.ts';
import type { McpPort } from '../definitions/mcp-servers/index.ts';
import type { Keys } from '../definitions/models/index.ts';
import type { Kernel, Past, Tools } from '../kernel/index.ts';
import type { Database } from '../store/index.ts';
import type { Stream } from '../stream/index.ts';
import type { Followers } from '../sync/index.ts';

/** What routes act through. Null until the process has started: then requests are told to come back. */
export interface Services extends Keys {
  /** What answers. */
  server: { version: string; mode: 'dev' | 'serve' };
  /** For showing what a model was given. */
  past: Past;
  db: Database;
  kernel: Kernel;
  access: Access;
  stream: Stream;
  /** Those who follow collections. */
  followers: Followers;
  /** For trying one alone. */
  tools: Tools;
  /** For looking what a server offers. */
  mcp: McpPort;
}
