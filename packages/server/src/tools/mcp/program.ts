import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { deserializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { messageOf, TroupeError } from '../../base/index.ts';
import { Meter } from './meter.ts';

// A server that is a program on this machine. The client's own transport for it inherits more of the environment than a stranger's
// program should see, knows one process and not those that it starts, and reads as much as it is sent.

const LONGEST_LINE = 8 * 1024 * 1024;
const MOST_WAITING = 16 * 1024 * 1024;
/** Some write a line of log where only messages belong. */
const MOST_RUBBISH = 100;
const ERRORS_KEPT = 2_000;
const PATIENCE_MS = 500;

export interface ProgramOptions {
  command: string;
  args: string[];
  /** All of it. */
  env: Record<string, string>;
}

/** Where this process ends without a word, its programs end with it. */
const running = new Set<ProgramTransport>();
let watching = false;
function watchExit(): void {
  if (watching) return;
  watching = true;
  process.on('exit', () => {
    for (const program of running) program.kill('SIGKILL');
  });
}

export class ProgramTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #options: ProgramOptions;
  readonly #onBroken: (why: TroupeError) => void;
  readonly #meter = new Meter();
  #child: ChildProcessWithoutNullStreams | null = null;
  #gone: Promise<void> = Promise.resolve();
  #parts: Buffer[] = [];
  #size = 0;
  #rubbish = 0;
  #errors = '';
  #closing = false;

  constructor(options: ProgramOptions, onBroken: (why: TroupeError) => void) {
    this.#options = options;
    this.#onBroken = onBroken;
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#options;
    watchExit();
    // A group of its own, so that what it starts ends with it. Never through a shell.
    const child = spawn(command, args, {
      env,
      cwd: '/',
      stdio: 'pipe',
      shell: false,
      detached: true,
      windowsHide: true,
    });
    this.#child = child;
    running.add(this);
    this.#gone = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => (child.pid === undefined ? resolve() : undefined));
    });
    void this.#gone.then(() => this.#ended());
    child.stdin.on('error', () => {});
    child.stdout.on('error', () => {});
    child.stderr.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => {
      if (this.#errors.length < ERRORS_KEPT) this.#errors += chunk.toString('utf8').slice(0, ERRORS_KEPT);
      if (!this.#meter.take(chunk.length))
        this.#break('mcp_too_much', 'The program writes errors without end.');
    });
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) =>
        reject(
          new TroupeError('mcp_start_failed', `The program cannot be started: ${messageOf(error)}.`, {
            cause: error,
          }),
        ),
      );
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new TroupeError('mcp_connection_lost', 'The program has ended.');
    if (stdin.writableLength > MOST_WAITING)
      return this.#break('mcp_not_reading', 'The program does not read what it is sent.');
    if ('method' in message && 'id' in message) this.#meter.refill();
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** First it may end by itself; then it is ended, and all that it started with it. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    if (this.#closing) {
      await this.#goneWithin(PATIENCE_MS);
      return;
    }
    this.#closing = true;
    child.stdin.end();
    child.stdout.removeAllListeners('data').resume();
    if (!(await this.#goneWithin(PATIENCE_MS))) this.kill('SIGTERM');
    if (!(await this.#goneWithin(PATIENCE_MS))) this.kill('SIGKILL');
    await this.#goneWithin(PATIENCE_MS);
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // There is nobody left.
    }
  }

  #goneWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    return Promise.race([this.#gone.then(() => true), late]).finally(() => clearTimeout(timer));
  }

  #ended(): void {
    const { exitCode, signalCode } = this.#child!;
    // What it started and left behind.
    this.kill('SIGKILL');
    running.delete(this);
    if (!this.#closing) {
      const how = signalCode ? `by ${signalCode}` : `with the code ${exitCode}`;
      const said = this.#errors.trim();
      this.#onBroken(
        new TroupeError(
          'mcp_connection_lost',
          // What it said may have been cut off: the end of this must be the end of that, see `failureOf`.
          said === '' ? `The program ended ${how}.` : `The program ended ${how}, after it had said: ${said}`,
        ),
      );
    }
    this.#closing = true;
    this.onclose?.();
  }

  #read(given: Buffer): void {
    if (!this.#meter.take(given.length)) {
      this.#break('mcp_too_much', 'The program sends more than anybody asked for.');
      return;
    }
    let chunk = given;
    for (let end = chunk.indexOf(10); end >= 0 && !this.#closing; end = chunk.indexOf(10)) {
      this.#hear(Buffer.concat([...this.#parts, chunk.subarray(0, end)]).toString('utf8'));
      this.#parts = [];
      this.#size = 0;
      chunk = chunk.subarray(end + 1);
    }
    this.#size += chunk.length;
    if (this.#size > LONGEST_LINE)
      this.#break('mcp_too_much', `The program sent a message of more than ${LONGEST_LINE} bytes.`);
    else this.#parts.push(chunk);
  }

  #hear(line: string): void {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch {
      if (++this.#rubbish > MOST_RUBBISH)
        this.#break('mcp_not_understood', 'The program writes what is no message of the protocol.');
      return;
    }
    this.onmessage?.(message);
  }

  #break(code: string, sentence: string): void {
    this.#onBroken(new TroupeError(code, sentence));
    // It is given no time: it may fill the pipe for as long as it has any.
    this.#closing = true;
    this.#parts = [];
    this.kill('SIGKILL');
  }
}
