/** A harness that records one process and waits to be killed. Its argument is the directory of the run; prints the id of the process. */
import { spawn } from 'node:child_process';
import { openGuardian } from './guard.ts';
import { Register } from './leftovers.ts';

const [directory = '', guarded] = process.argv.slice(2);
const register = new Register(directory);
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
  stdio: 'ignore',
  detached: true,
});
register.add(child.pid!);
if (guarded === 'guarded') openGuardian(directory);
console.log(child.pid);
setInterval(() => {}, 1_000);
