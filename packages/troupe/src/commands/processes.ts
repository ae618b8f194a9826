import { enableCompileCache } from 'node:module';
import { listOf } from '../parse.ts';

export const PROCESSES = ['dev', 'serve', 'work', 'migrate'] as const;
type ProcessName = (typeof PROCESSES)[number] | 'reencrypt' | 'import';

export function isProcess(name: string): name is (typeof PROCESSES)[number] {
  return (PROCESSES as readonly string[]).includes(name);
}

/**
 * Makes this process one of the server's: signals, log and end are its own from here on. Resolves when it has started, with
 * the exit code where it could not.
 */
export async function startProcess(
  name: ProcessName,
  { json = false, tools }: { json?: boolean; tools?: string },
  importing?: { file: string; name?: string | undefined },
): Promise<number> {
  // What was compiled once is kept for the next start. Other commands do without the server, which takes a while to load.
  enableCompileCache();
  const { compose } = await import('@troupe/server/parts');
  await compose(name, {
    json,
    ...(tools === undefined ? {} : { tools: listOf('tools', tools) }),
    ...(importing ? { importing } : {}),
  });
  return Number(process.exitCode ?? 0);
}
