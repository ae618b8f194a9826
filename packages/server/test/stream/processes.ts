import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A part of Troupe in a process of its own; it says one thing when it is ready, and answers what it is asked. */
export class Part<Ready> implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ready: Ready;
  readonly #died: Promise<void>;

  private constructor(child: ChildProcess, ready: Ready, died: Promise<void>) {
    this.child = child;
    this.ready = ready;
    this.#died = died;
  }

  static async start<Ready>(file: string, ...args: string[]): Promise<Part<Ready>> {
    const child = fork(join(import.meta.dirname, file), args, { execArgv: ['--expose-gc'] });
    living.add(child);
    const died = new Promise<void>((resolve) =>
      child.once('exit', () => {
        living.delete(child);
        resolve();
      }),
    );
    const ready = await Promise.race([
      new Promise<Ready>((resolve) => child.once('message', (said) => resolve(said as Ready))),
      died.then((): never => {
        throw new Error(`${file} ended before it was ready`);
      }),
    ]);
    return new Part(child, ready, died);
  }

  ask<Answer>(question: string): Promise<Answer> {
    return new Promise((resolve) => {
      this.child.once('message', (answer) => resolve(answer as Answer));
      this.child.send(question);
    });
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#died;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
