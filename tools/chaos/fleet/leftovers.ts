import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A process that a run started. The start time tells it from a later process with the same id. */
export interface Recorded {
  pid: number;
  startTime: string;
}

interface Note {
  harness: Recorded;
  processes: Recorded[];
}

const NAME = 'processes.json';
/** Directories of runs, so that the next run finds what an earlier one left. */
export const PREFIX = 'troupe-chaos-';

/** When the process began, in clock ticks since boot; null if it is gone or a zombie. */
export function startTimeOf(pid: number): string | null {
  try {
    // The name in parentheses may contain spaces; the fields after it are separated by one space each.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return fields[0] === 'Z' ? null : fields[19]!;
  } catch {
    return null;
  }
}

export function isAlive({ pid, startTime }: Recorded): boolean {
  return startTimeOf(pid) === startTime;
}

/** The processes of one run, written to its directory whenever they change. */
export class Register {
  readonly #path: string;
  readonly #processes = new Map<number, Recorded>();

  constructor(directory: string) {
    this.#path = join(directory, NAME);
    this.#write();
  }

  add(pid: number): void {
    const startTime = startTimeOf(pid);
    if (startTime === null) return;
    this.#processes.set(pid, { pid, startTime });
    this.#write();
  }

  remove(pid: number): void {
    this.#processes.delete(pid);
    this.#write();
  }

  #write(): void {
    const harness = { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
    const note: Note = { harness, processes: [...this.#processes.values()] };
    writeFileSync(this.#path, JSON.stringify(note));
  }
}

/** Kills what a run recorded and still runs, and removes its directory. Answers with the ids that were killed. */
export function removeRun(directory: string): number[] {
  const killed: number[] = [];
  for (const recorded of readNote(directory)?.processes ?? []) {
    if (!isAlive(recorded)) continue;
    process.kill(recorded.pid, 'SIGKILL');
    killed.push(recorded.pid);
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  return killed;
}

/** Removes runs whose harness is gone. */
export function removeLeftovers(parent: string): number[] {
  const found = readdirSync(parent).filter((name) => name.startsWith(PREFIX));
  return found.flatMap((name) => {
    const note = readNote(join(parent, name));
    return note && !isAlive(note.harness) ? removeRun(join(parent, name)) : [];
  });
}

function readNote(directory: string): Note | null {
  try {
    return JSON.parse(readFileSync(join(directory, NAME), 'utf8')) as Note;
  } catch {
    return null;
  }
}
