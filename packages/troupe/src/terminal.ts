/** Where a command reads and writes, and what it may know of its surroundings. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  env: Record<string, string | undefined>;
  /** A person watches what goes to `err`. */
  isWatched: boolean;
  /** What is typed or piped in, line by line; the prompt is shown to a person only. Ends with the input, or by Ctrl-C at the prompt. */
  lines(prompt: string): AsyncIterable<string>;
  /** Something that must not be seen: all that is piped in, or one line that is typed and not shown. Without its line end. */
  secret(prompt: string): Promise<string>;
  /** Has Ctrl-C do this instead of ending the process; answers with what undoes it. */
  onInterrupt(act: () => void): () => void;
}

/** The command line was not understood: told with what may have been meant, exit code 2. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}
