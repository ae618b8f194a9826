import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'],
    testTimeout: 30_000,
    // Real processes are killed, stopped and timed; on a machine that is busy with something else that goes wrong now and then.
    // What is really broken fails twice.
    retry: 1,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['packages/testing/src/global-setup.ts'],
  },
});
