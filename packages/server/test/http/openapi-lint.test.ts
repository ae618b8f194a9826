import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { allEndpoints } from '@troupe/protocol';
import { expect, it } from 'vitest';
import { openApiOf } from '../../src/http/openapi.ts';

const packageFile = createRequire(import.meta.url).resolve('@redocly/cli/package.json');
const cli = join(dirname(packageFile), 'bin/cli.js');

/** The findings of `redocly lint` with its recommended rules, as it is run by hand; it uses no network. */
async function lint(document: object): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-openapi-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [cli, 'lint', 'openapi.json', '--extends=recommended', '--format=json', '--max-problems=1000'],
      {
        cwd: folder,
        env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        maxBuffer: 100_000_000,
      },
    ).catch((failed: { stdout: string }) => failed);
    const { problems } = JSON.parse(stdout) as { problems: { ruleId: string; message: string }[] };
    return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('passes redocly lint without errors and warnings', async () => {
  const document = openApiOf(allEndpoints(), { version: '1.2.3' });
  expect(await lint(document)).toEqual([]);
  // The linter finds what is wrong.
  expect(await lint({ ...document, paths: {}, components: {}, tags: [{ name: 'agents' }] })).toContain(
    'tag-description: Tag object should contain `description` field.',
  );
});
