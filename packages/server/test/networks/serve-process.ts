import { openServer } from '@troupe/testing';

// A server in a process of its own that dies when the run of a request is stored, before it answers.

const [databaseUrl, key] = process.argv.slice(2);
const { url } = await openServer({
  postgresUrl: databaseUrl!,
  databaseUrl: databaseUrl!,
  encryptionKey: Buffer.from(key!, 'base64'),
  works: false,
  probe: async (boundary, when) => {
    if (boundary !== 'start' || when !== 'after') return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  },
});
process.send!({ url });
process.on('disconnect', () => process.exit(1));
