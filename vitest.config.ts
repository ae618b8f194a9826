import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { scratchDirectory } from './packages/testing/src/scratch.ts';
import { bundle } from './tools/bundles.ts';

// For the processes that run the tests, and for those that they start.
const scratch = scratchDirectory();
if (scratch) process.env.TMPDIR = scratch;
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, 'node_modules/.cache/compiled');
process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, await bundle()].filter(Boolean).join(' ');

/**
 * Test files that leave nothing behind in their process: one process runs many of them and imports the server once,
 * which takes longer than most of them. No helper of theirs registers a hook when it is imported. The ones left out
 * measure or change the process that they are in.
 */
const together = [
  'packages/server/test/{access,config,doors,outgoing,overview,races,store,tools}/*.test.ts',
  'packages/server/test/agents/!(files).test.ts',
  'packages/server/test/http/!(idempotency).test.ts',
  'packages/server/test/kernel/!(bad-input|memory).test.ts',
  'packages/server/test/models/!(conformance|hostile).test.ts',
  'packages/server/test/{spaces,networks,tasks,triggers}/!(*.crash).test.ts',
  'packages/server/test/refusals/!(fuzz).test.ts',
  'packages/server/test/stream/!(crowd|processes.crash).test.ts',
  'packages/server/test/sync/{documents,order,rights}.test.ts',
  'packages/troupe/test/{agents,batches,inbox,mcp,networks,nouns,runs,spaces,tasks,tools,triggers}.test.ts',
  'packages/sdk/test/!(docs).test.ts',
];
/** What does not depend on Postgres need not be run on a second one: what is refused before a statement, the memory of a process. */
const same = process.env.TROUPE_TEST_POSTGRES === '15' ? ['**/kernel/{bad-input,memory}.test.ts'] : [];
const all = ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'];

/**
 * Begun last, a file that takes long would keep one core busy and leave the other idle. Those that have a process to themselves come first, so that
 * the processes that run many are not ended in between.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      /\/test\/(crash|embedded|process|faults|races|simulation)\/|(company|kill|processes)\.crash|\/(pack|crowd|edges|sandbox|sessions\.handover\.race)\.test/.test(
        moduleId,
      );
    const rank = (file: TestSpecification) => (file.project.config.isolate ? 0 : 2) + (isLong(file) ? 0 : 1);
    return (await super.sort(files)).toSorted((one, two) => rank(one) - rank(two));
  }
}

export default defineConfig({
  test: {
    testTimeout: 30_000,
    // Real processes are killed, stopped and waited for; on a machine busy with something else the wait can run out. Only that
    // is tried once more: a wrong outcome fails at once, since a race that shows once is there.
    retry: { count: 1, condition: /still not: |timed out in|did not end within/ },
    hookTimeout: 60_000,
    pool: 'forks',
    // Node runs TypeScript and keeps what it compiled; nothing here is mocked or transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['packages/testing/src/global-setup.ts'],
    projects: [
      { extends: true, test: { name: 'alone', include: all, exclude: [...together, ...same] } },
      { extends: true, test: { name: 'together', include: together, isolate: false } },
    ],
  },
});
