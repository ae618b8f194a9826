import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { serverWith } from './tools-of-server.ts';

// An MCP server that is a program. What it is given as its first argument says how it misbehaves.

const [how = 'well'] = process.argv.slice(2);
const helper = how === 'helper' ? spawn('sleep', ['1000'], { stdio: 'ignore' }) : null;
if (how === 'dies') {
  console.error(`I cannot start with ${process.env.TOKEN}`);
  process.exit(3);
}
if (how === 'hangs') for (;;);
if (how === 'stubborn') process.on('SIGTERM', () => {});

/** Without end, as fast as it is read. */
function writeForever(text: string): never {
  for (;;) {
    try {
      writeSync(1, text);
    } catch {
      // The pipe is full.
    }
  }
}

const long = {
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'x'.repeat(9_000) },
};
const { server } = serverWith({
  known: () => ({ env: process.env, args: process.argv.slice(2), pids: [process.pid, helper?.pid] }),
  misbehave: (way) => {
    if (way === 'flood') writeForever(`${JSON.stringify(long)}\n`);
    if (way === 'write') writeForever('x'.repeat(10_000));
    if (way === 'talk') for (let line = 0; line < 1_000; line++) process.stdout.write('hello there\n');
    if (way === 'freeze') for (;;);
    if (way === 'end') process.exit(7);
  },
});
await server.connect(new StdioServerTransport());
