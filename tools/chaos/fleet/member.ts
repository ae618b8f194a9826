import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Register } from './leftovers.ts';
import type { Link } from './link.ts';

const MAIN = fileURLToPath(new URL('../../../packages/server/src/main.ts', import.meta.url));
/** Between the end of a process and the next one in its place. */
const RESPAWN_MS = 200;

export interface MemberOptions {
  name: string;
  role: 'serve' | 'work';
  env: Record<string, string>;
  /** Its way to the database; through a pooler two. */
  links: Link[];
  directory: string;
  register: Register;
}

/** A place in the fleet: one `serve` or `work` process, and the next one whenever it ends. */
export class Member {
  readonly name: string;
  readonly role: 'serve' | 'work';
  readonly links: Link[];
  /** Ends that nobody asked for, with the code or the signal. */
  readonly exits: string[] = [];
  readonly #options: MemberOptions;
  #child: ChildProcess | null = null;
  #expected = false;
  #closing = false;
  #delayMs = RESPAWN_MS;

  constructor(options: MemberOptions) {
    this.name = options.name;
    this.role = options.role;
    this.links = options.links;
    this.#options = options;
    this.#spawn();
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Ends the process and starts the next one after a pause. */
  async end(signal: 'SIGKILL' | 'SIGTERM', pauseMs: number): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#expected = true;
    this.#delayMs = pauseMs;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal);
  }

  async close(): Promise<void> {
    this.#closing = true;
    const child = this.#child;
    if (!child) return;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(timer);
  }

  #spawn(): void {
    const { name, role, env, directory, register } = this.#options;
    const { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE } = process.env;
    const log = openSync(join(directory, `${name}.log`), 'a');
    const child = spawn(process.execPath, [MAIN, role], {
      env: { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#expected = false;
    if (child.pid) register.add(child.pid);
    child.on('exit', (code, signal) => {
      this.#child = null;
      if (child.pid) register.remove(child.pid);
      if (this.#closing) return;
      if (!this.#expected) this.exits.push(`${name} ${signal ?? code}`);
      setTimeout(() => {
        if (!this.#closing) this.#spawn();
      }, this.#delayMs);
      this.#delayMs = RESPAWN_MS;
    });
  }
}
