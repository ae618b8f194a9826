import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROCESSES = ['dev', 'serve', 'work', 'migrate'];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function isProcess(name: string): boolean {
  return PROCESSES.includes(name);
}

/** The server's own program, in a process of its own, with our signals. Answers with its exit code. */
export function startProcess(name: string, rest: string[]): Promise<number> {
  const program = fileURLToPath(import.meta.resolve('@troupe/server/main'));
  const child = spawn(process.execPath, [program, name, ...rest], { stdio: 'inherit' });
  // Ctrl-C reaches both; we wait for the child, which drains.
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const one of SIGNALS) process.off(one, pass);
      resolve(code ?? (signal ? 1 : 0));
    });
  });
}
