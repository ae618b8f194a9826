/**
 * Chaos over real processes: a fleet on one Postgres, load on every door, faults from a seed, and a checker that reads every history.
 * Run it: `npm run chaos -- --minutes 3 --seed 7`; docs/reliability.md says what it proves. Exits 1 if a promise was broken.
 * Start reading: run.ts (what happens), nemesis/schedule.ts (the faults), checker/check.ts (the promises).
 */
import { writeFileSync } from 'node:fs';
import { bundle } from '../bundles.ts';
import { explain } from './explain.ts';
import { readOptions } from './options.ts';
import { report } from './report.ts';
import { run } from './run.ts';

// The processes of the fleet start faster with the packages in one file each.
process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, await bundle()].filter(Boolean).join(' ');
const options = readOptions(process.argv.slice(2));
const began = Date.now();
const log = (line: string) => console.log(`${((Date.now() - began) / 1_000).toFixed(1).padStart(7)} ${line}`);
const outcome = await run(options, log, (ended) => explain(ended, console.log));
const text = report(outcome);
console.log(text);
if (options.report) writeFileSync(options.report, text);
process.exit(outcome.violations.length > 0 ? 1 : 0);
