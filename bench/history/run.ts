// npm run bench:history [-- --runs 1000000 --home <folder>]
// Makes a database with a long history and prints every statement whose cost grows with it. With --home the database is kept.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { silentLogger, startEmbedded } from '@troupe/server';
import { createTemplate } from '../../packages/testing/src/global-setup.ts';
import { compare } from './compare.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '1000000' }, home: { type: 'string' } },
});
const home = values.home ?? (await mkdtemp(join(tmpdir(), 'troupe-bench-')));
const postgres = await startEmbedded({ home, logger: silentLogger });
try {
  await createTemplate(postgres.url).catch(() => {});
  const { sizes, grown, slowest } = await compare(postgres.url, { runs: Number(values.runs) });
  for (const { runs, messages } of sizes) console.log(`${runs} runs, ${messages} messages`);
  console.log('\npages  statement (the ten most expensive)');
  for (const { pages, text } of slowest) console.log(`${String(pages).padStart(6)}  ${text.slice(0, 160)}`);
  for (const { before, after, text } of grown)
    console.log(`\ngrows from ${before} to ${after} pages: ${text}`);
  if (grown.length > 0) process.exitCode = 1;
} finally {
  await postgres.stop();
  if (!values.home) rmSync(home, { recursive: true, force: true });
}
