import { createHash } from 'node:crypto';
import type { SnapshotMcpServer } from '@troupe/protocol';
import { TroupeError, templateOf } from '../../base/index.ts';
import { render, secretsIn } from '../http/index.ts';

/** Where a server is, with the values of its secrets: not to be logged or kept. */
export type Target =
  | { transport: 'http'; url: string; headers: Record<string, string> }
  | { transport: 'stdio'; command: string; args: string[]; env: Record<string, string> };

export function secretsOf({ url, headers, args, env }: SnapshotMcpServer): string[] {
  return secretsIn({ url: url ?? '', method: 'GET', headers, query: {}, body: [...args, env] });
}

export function targetOf(server: SnapshotMcpServer, secrets: ReadonlyMap<string, string>): Target {
  const { transport, url, headers, command, args, env } = server;
  if (transport === 'http') {
    const request = { url: url!, method: 'GET' as const, headers, query: {} };
    return { transport, ...pick(render(request, { input: {}, secrets })) };
  }
  const fill = (text: string) => {
    const filled = templateOf(text)
      .map((part) =>
        part.from === 'secrets' ? secrets.get(part.name)! : part.from === 'text' ? part.text : '',
      )
      .join('');
    // The message of what Node would throw holds the value.
    if (filled.includes('\0'))
      throw new TroupeError(
        'mcp_server_invalid',
        'A secret with a NUL character cannot be given to a program.',
      );
    return filled;
  };
  const filled = Object.entries(env).map(([name, text]) => [name, fill(text)]);
  return { transport, command: command!, args: args.map(fill), env: Object.fromEntries(filled) };
}

function pick({ url, headers }: { url: string; headers: Record<string, string> }) {
  return { url, headers };
}

/** The same for whoever may share a connection. */
export function keyOf(project: string, target: Target): string {
  return createHash('sha256')
    .update(JSON.stringify([project, target]))
    .digest('hex');
}
