import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@troupe/testing';
import { afterAll, afterEach, expect, test } from 'vitest';
import { PREFIX, removeLeftovers, startTimeOf } from './leftovers.ts';

const parent = mkdtempSync(join(realpathSync(tmpdir()), 'chaos-leftovers-'));
const started: ChildProcess[] = [];
const recorded: number[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const pid of recorded.splice(0)) if (startTimeOf(pid)) process.kill(pid, 'SIGKILL');
  for (const name of readdirSync(parent)) rmSync(join(parent, name), { recursive: true, force: true });
});

afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** A harness in a process of its own, and the process that it started. */
async function harness(guarded: 'guarded' | 'alone') {
  const directory = mkdtempSync(join(parent, PREFIX));
  const program = fileURLToPath(new URL('./harness-for-tests.ts', import.meta.url));
  const child = spawn(process.execPath, [program, directory, guarded], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  const pid = Number(line.toString());
  recorded.push(pid);
  const kill = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { directory, pid, kill };
}

test('a guardian ends the processes of a harness that was killed', async () => {
  const { directory, pid, kill } = await harness('guarded');
  expect(startTimeOf(pid)).not.toBeNull();
  await kill();
  await until('the process is gone', () => startTimeOf(pid) === null);
  await until('the directory is gone', () => !existsSync(directory));
});

test('the next run ends what a killed harness left, and nothing else', async () => {
  const [left, other, running] = [await harness('alone'), await harness('alone'), await harness('alone')];
  await Promise.all([left.kill(), other.kill()]);
  // The id was given to another process since: its start time differs.
  const note = join(other.directory, 'processes.json');
  const read = JSON.parse(readFileSync(note, 'utf8'));
  read.processes[0].startTime = '1';
  writeFileSync(note, JSON.stringify(read));
  expect(removeLeftovers(parent)).toEqual([left.pid]);
  await until('the process is gone', () => startTimeOf(left.pid) === null);
  expect(startTimeOf(other.pid)).not.toBeNull();
  expect(startTimeOf(running.pid)).not.toBeNull();
  expect(existsSync(running.directory)).toBe(true);
});
