#!/usr/bin/env node
/** The `troupe` command: finds out what is wanted and tells how it went. Exit codes: 0 done, 1 failed, 2 not understood. */
import { processTerminal } from './process-terminal.ts';
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), processTerminal());
