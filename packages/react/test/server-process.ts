// A server in a process of its own, for tests to kill: `node server-process.ts <url of a database>` says where it listens.
import { openServer } from '@troupe/testing';

const databaseUrl = process.argv[2]!;
const server = await openServer({
  postgresUrl: databaseUrl,
  databaseUrl,
  script: ({ messages }) => {
    const { text } = messages.at(-1) as { text: string };
    if (text.startsWith('Slowly')) return { chunks: text.match(/.{1,4}/g)!, delayBetweenChunksMs: 40 };
    return { text: `Heard: ${text}` };
  },
});
console.log(server.url);
// Whoever started it is gone.
process.stdin.resume().on('end', () => process.exit());
