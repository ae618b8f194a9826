import { spawn } from 'node:child_process';
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

const server = serverWith({
  known: () => ({ env: process.env, args: process.argv.slice(2), pids: [process.pid, helper?.pid] }),
  crash: () => {
    if (how === 'floods')
      for (;;)
        process.stdout.write(
          `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(100_000) } })}\n`,
        );
    if (how === 'endless') for (;;) process.stdout.write('x'.repeat(100_000));
    if (how === 'rubbish') for (let line = 0; line < 1_000; line++) process.stdout.write('hello there\n');
    if (how === 'freezes') for (;;);
    if (how === 'well' || how === 'helper') process.exit(7);
  },
});
await server.connect(new StdioServerTransport());
