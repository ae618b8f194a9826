/** CPU time, memory and disk writes of processes, read from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ is 100 on every Linux architecture that Node supports. */
const TICK_MS = 10;

interface Stat {
  parent: number;
  ticks: number;
}

/** Of a process and its children that have ended. Undefined if it is gone. */
function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in parentheses and may contain spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { parent: fields[1]!, ticks: fields[11]! + fields[12]! + fields[13]! + fields[14]! };
  } catch {
    return undefined;
  }
}

export function parentOf(pid: number): number | undefined {
  return readStat(pid)?.parent;
}

/** CPU time of a process and its children, those that have ended included. */
export function treeCpuMs(pid: number): number {
  const top = readStat(pid);
  if (!top) return 0;
  let ticks = top.ticks;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat?.parent === pid) ticks += stat.ticks;
  }
  return ticks * TICK_MS;
}

/** CPU time that all processes of the machine have used. */
export function machineBusyMs(): number {
  const [user, nice, system, , , ...interrupts] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return [user!, nice!, system!, ...interrupts.slice(0, 3)].reduce((sum, ticks) => sum + ticks) * TICK_MS;
}

export function rssMb(pid: number): number {
  return Math.round(readNumber(`/proc/${pid}/status`, /VmRSS:\s+(\d+)/) / 102.4) / 10;
}

export function writtenBytes(pid: number): number {
  return readNumber(`/proc/${pid}/io`, /^write_bytes: (\d+)/m);
}

function readNumber(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // the process is gone
  }
}
