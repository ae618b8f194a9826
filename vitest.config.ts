import { execFileSync } from 'node:child_process';
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

// Which sample is taken of what only `npm run test:long` plays in full: another one for each commit.
process.env.TROUPE_TEST_SEED ??= seedOfCommit();
console.log(process.env.TROUPE_TEST_LONG ? 'All cases.' : `TROUPE_TEST_SEED=${process.env.TROUPE_TEST_SEED}`);

function seedOfCommit(): string {
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '1'; // sources without a history
  }
}

/**
 * Test files that leave nothing behind in their process: one process runs many of them and imports the server once,
 * which takes longer than most of them. No helper of theirs registers a hook when it is imported. The ones left out
 * measure or change the process that they are in.
 */
const together = [
  'packages/server/test/{access,agents,config,crash,documents,doors,embedded,faults,jobs,lifecycle,outgoing,overview,races,store,tools}/*.test.ts',
  'packages/server/test/http/!(idempotency).test.ts',
  'packages/server/test/kernel/!(bad-input|memory).test.ts',
  'packages/server/test/models/!(conformance|hostile).test.ts',
  'packages/server/test/{spaces,networks,tasks,triggers}/*.test.ts',
  'packages/server/test/refusals/!(fuzz).test.ts',
  'packages/server/test/stream/!(crowd|processes.crash).test.ts',
  'packages/server/test/sync/{documents,order,rights}.test.ts',
  'packages/troupe/test/{agents,batches,inbox,mcp,networks,nouns,runs,spaces,tasks,tools,triggers}.test.ts',
  'packages/sdk/test/!(docs).test.ts',
  // With one browser for all of them.
  '{apps/console,packages/ui,packages/react}/test/*.test.ts',
];
/**
 * Files that hold time, memory or a takeover to a bound. They come last and no more than two at once, one for each core. The others wait
 * for processes and timers a good part of their time: there are three at once.
 */
const measured = [
  'packages/server/test/base/json-schema.test.ts',
  'packages/server/test/kernel/{bad-input,memory}.test.ts',
  'packages/server/test/models/hostile.test.ts',
  'packages/server/test/process/dev.test.ts',
  'packages/server/test/stream/{crowd,processes.crash}.test.ts',
  'packages/server/test/sync/stream.test.ts',
  'packages/server/test/telemetry/spans.test.ts',
];
/** Those of them that leave nothing behind. */
const measuredTogether = [
  'apps/console/test/runs.test.ts',
  'packages/sdk/test/{offline-chat,stream}.test.ts',
  'packages/ui/test/layout.test.ts',
  'packages/server/test/crash/{stopped.zombie,takeover.crash}.test.ts',
  'packages/server/test/http/{app,network-versions,server}.test.ts',
  'packages/server/test/embedded/start.test.ts',
  'packages/server/test/jobs/jobs.test.ts',
  'packages/server/test/kernel/cancel.test.ts',
  'packages/server/test/networks/large.test.ts',
  'packages/server/test/spaces/guard.test.ts',
  'packages/server/test/stream/{live,shutdown}.test.ts',
  'packages/server/test/tasks/tasks.test.ts',
  'packages/server/test/triggers/conditions.test.ts',
];
/** What does not depend on Postgres need not be run on a second one: what is refused before a statement, the memory of a process. */
const same = process.env.TROUPE_TEST_POSTGRES === '15' ? ['**/kernel/{bad-input,memory}.test.ts'] : [];
const all = ['{packages,apps}/*/test/**/*.test.ts', 'tools/**/*.test.ts', 'bench/*/*.test.ts'];

/**
 * Begun last, a file that takes long would keep one core busy and leave the other idle. Those that have a process to themselves come first, so that
 * the processes that run many are not ended in between.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      /\/test\/(crash|embedded|process|faults|races|simulation)\/|(chatter|kill|processes)\.crash|\/(pack|crowd|edges|sandbox|sessions\.handover\.race)\.test/.test(
        moduleId,
      );
    const rank = (file: TestSpecification) => (file.project.config.isolate ? 0 : 2) + (isLong(file) ? 0 : 1);
    return (await super.sort(files)).toSorted((one, two) => rank(one) - rank(two));
  }
}

const last = { maxWorkers: 2, sequence: { groupOrder: 1, sequencer: LongestFirst } };

export default defineConfig({
  test: {
    // For a test that hangs. Bounds on time are stated where they are meant, with `stopwatch`, which leaves out what other
    // processes take. Nothing is retried: a test that fails once has found something.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Node runs TypeScript and keeps what it compiled; nothing here is mocked or transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['packages/testing/src/global-setup.ts'],
    projects: [
      { extends: true, test: { name: 'alone', include: all, exclude: [...together, ...measured, ...same] } },
      {
        extends: true,
        test: { name: 'together', include: together, exclude: measuredTogether, isolate: false },
      },
      { extends: true, test: { name: 'measured', include: measured, exclude: same, ...last } },
      {
        extends: true,
        test: { name: 'measured together', include: measuredTogether, isolate: false, ...last },
      },
    ],
  },
});
