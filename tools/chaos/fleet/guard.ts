import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Starts the guardian of a run: it ends what the run recorded when this process is gone. */
export function openGuardian(directory: string): ChildProcess {
  const program = fileURLToPath(new URL('./guardian.ts', import.meta.url));
  const guardian = spawn(process.execPath, [program, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { PATH: process.env.PATH },
  });
  guardian.unref();
  return guardian;
}
