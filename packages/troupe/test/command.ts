import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { run } from '../src/index.ts';
import type { Terminal } from '../src/terminal.ts';

export interface Told {
  code: number;
  out: string;
  err: string;
}

export interface Session extends Told {
  interrupt(): void;
  done: Promise<number>;
}

/** The command in this process, before a terminal that keeps what is written. */
export function start(
  words: string[],
  options: {
    url?: string;
    lines?: Iterable<string> | AsyncIterable<string>;
    isWatched?: boolean;
    secret?: string;
    env?: Record<string, string>;
  } = {},
): Session {
  const acts: (() => void)[] = [];
  const terminal: Terminal = {
    out: (text) => {
      told.out += text;
    },
    err: (text) => {
      told.err += text;
    },
    env: { ...(options.url ? { TROUPE_URL: options.url } : {}), ...options.env },
    isWatched: options.isWatched ?? false,
    async *lines() {
      yield* options.lines ?? [];
    },
    secret: async () => options.secret ?? '',
    onInterrupt(act) {
      acts.push(act);
      return () => void acts.splice(acts.indexOf(act), 1);
    },
  };
  const told: Session = {
    code: -1,
    out: '',
    err: '',
    interrupt: () => acts.at(-1)?.(),
    done: Promise.resolve(-1),
  };
  told.done = run(words, terminal).then((code) => {
    told.code = code;
    return code;
  });
  return told;
}

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The command as a process of its own. */
export function startProcess(
  words: string[],
  { url, input, env: more }: { url?: string; input?: string; env?: Record<string, string> } = {},
) {
  const { TROUPE_URL: _, TROUPE_KEY: __, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { ...env, ...(url ? { TROUPE_URL: url } : {}), ...more },
  });
  const told: Told = { code: -1, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.err += text;
  });
  child.stdin.end(input ?? '');
  const done = new Promise<Told>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(Object.assign(told, { code: code ?? -1 })));
  });
  return { child, told, done };
}
