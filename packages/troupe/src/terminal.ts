/** Where a command writes and what it may know of its surroundings. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  env: Record<string, string | undefined>;
}

/** The command line was not understood: told with the usage, exit code 2. */
export class UsageError extends Error {}
