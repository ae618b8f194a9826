#!/usr/bin/env node
/** The `troupe` command: finds out what is wanted and tells how it went. Exit codes: 0 done, 1 failed, 2 not understood. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`error: Troupe needs Node 22.19 or later; this is ${process.versions.node}.`);
  console.error('  Install a newer one from https://nodejs.org, or `npm install node@24` beside troupe.');
  process.exit(1);
}
// Only now: an older Node does not understand all of what these import.
const { processTerminal } = await import('./process-terminal.ts');
const { run } = await import('./run.ts');

process.exitCode = await run(process.argv.slice(2), processTerminal());

export {};
