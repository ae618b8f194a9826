#!/usr/bin/env node
/** The `troupe` command: finds out what is wanted and tells how it went. Exit codes: 0 done, 1 failed, 2 not understood. */
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
});
