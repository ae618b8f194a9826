import { openServer } from '@troupe/testing';

// A process that judges and delivers, and dies at the moment that it is told.

const [databaseUrl, key, moment] = process.argv.slice(2);
await openServer({
  postgresUrl: databaseUrl!,
  databaseUrl: databaseUrl!,
  encryptionKey: Buffer.from(key!, 'base64'),
  triggers: {
    probe: async (at) => {
      if (at !== moment) return;
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => {});
    },
  },
});
process.send!('working');
process.on('disconnect', () => process.exit(1));
