import { onTestFinished } from 'vitest';

/** Runs after the test, in reverse order. Unlike a hook at the top of a module, it works in files that share a process. */
export function after(clean: () => unknown): void {
  onTestFinished(async () => void (await clean()));
}
