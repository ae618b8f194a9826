import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Terminal } from './terminal.ts';

/** Whoever reads us (`head`) has enough and is gone: no reason to complain. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
}

/** The terminal that this process was started in. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  let isHeard = false;
  const write = (stream: NodeJS.WriteStream, text: string) => {
    if (!isHeard) for (const each of [stdout, stderr]) each.on('error', endQuietly);
    isHeard = true; // From the first word on: a process of the server says nothing here, and goes on without readers.
    stream.write(text);
  };
  const acts: (() => void)[] = [];
  return {
    out: (text) => write(stdout, text),
    err: (text) => write(stderr, text),
    env: process.env,
    isWatched: stderr.isTTY === true,
    async *lines(prompt) {
      const isTyped = stdin.isTTY === true && stderr.isTTY === true;
      const lines = createInterface({ input: stdin, ...(isTyped ? { output: stderr, prompt } : {}) });
      // A terminal that lines are read from hands Ctrl-C to the reader, not to the process.
      const interrupted = () => {
        const act = acts.at(-1);
        if (act) return act();
        stderr.write('\n');
        lines.close();
      };
      if (isTyped) lines.on('SIGINT', interrupted).prompt();
      try {
        for await (const line of lines) {
          yield line;
          if (isTyped) lines.prompt();
        }
      } finally {
        lines.close();
      }
    },
    async secret(prompt) {
      if (stdin.isTTY !== true) {
        const pieces: Buffer[] = [];
        for await (const piece of stdin) pieces.push(piece as Buffer);
        return Buffer.concat(pieces)
          .toString('utf8')
          .replace(/\r?\n$/, '');
      }
      write(stderr, prompt);
      // It needs an output to take the keys one by one, and would show them there.
      const unseen = new Writable({ write: (_, __, done) => done() });
      const typing = createInterface({ input: stdin, output: unseen, terminal: true });
      try {
        return await new Promise<string>((resolve) => {
          typing.once('line', resolve).once('close', () => resolve(''));
        });
      } finally {
        typing.close();
        write(stderr, '\n');
      }
    },
    onInterrupt(act) {
      acts.push(act);
      process.on('SIGINT', act);
      return () => {
        acts.splice(acts.indexOf(act), 1);
        process.off('SIGINT', act);
      };
    },
  };
}
