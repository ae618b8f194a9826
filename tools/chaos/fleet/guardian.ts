/**
 * Ends what a run started when the harness is gone, also after kill -9: standard input is a pipe that the harness holds open.
 * Started by `openGuardian`; its argument is the directory of the run.
 */
import { removeRun } from './leftovers.ts';

const directory = process.argv[2]!;
process.stdin.resume();
process.stdin.on('end', () => {
  removeRun(directory);
  process.exit();
});
// Ctrl-C reaches the whole group; the harness decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
