import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'],
    testTimeout: 30_000,
    // Real processes are killed, stopped and waited for; on a machine busy with something else the wait can run out. Only that
    // is tried once more: a wrong outcome fails at once, since a race that shows once is there.
    retry: { count: 1, condition: /still not: |timed out in|did not end within/ },
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['packages/testing/src/global-setup.ts'],
  },
});
