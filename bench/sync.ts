// npm run bench:sync [messages]
// What a document costs in a first sync, in Postgres and in Node: the pull, and beside it the same pages ordered by the id
// of the message with one function call per document. CPU time rather than wall time, because it depends less on what
// else the machine does.
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, migrate, silentLogger, startEmbedded } from '@troupe/server';
import { pullChanges } from '../packages/server/src/sync/pull.ts';
import { buildConversations } from '../packages/server/test/sync/conversations.ts';

const messages = Number(process.argv[2] ?? 50_000);
/** Documents that are pulled for one measurement. */
const PULLED = 5_000;

const CANDIDATES = {
  project: `select m.id from troupe.messages m join troupe.threads t on t.id = m.thread_id where t.project_id = $1::uuid and t.kind in ('session', 'space')`,
  person: `select m.id from troupe.sessions s join troupe.messages m on m.thread_id = s.thread_id where s.entity_id = $1::uuid`,
};

const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const postgres = await startEmbedded({ home, logger: silentLogger });
try {
  await migrate(postgres.url);
  const db = new Database({ url: postgres.url, applicationName: 'bench', logger: silentLogger });
  const { project, person } = await buildConversations(db, messages);
  await measureAll(db, project, person);
  await db.close();
} finally {
  await postgres.stop();
  rmSync(home, { recursive: true });
}

async function measureAll(db: Database, project: string, person: string): Promise<void> {
  for (const [scope, entityId] of [
    ['project', null],
    ['person', person],
  ] as const) {
    for (const limit of [100, 1_000]) {
      let checkpoint: string | undefined;
      const pulled = await measure(db, async () => {
        const page = await pullChanges(
          db,
          'messages',
          { project, entityId, chat: null },
          { checkpoint, limit },
        );
        checkpoint = page.checkpoint;
        return page.documents;
      });
      let after = '00000000-0000-0000-0000-000000000000';
      const perRow = await measure(db, async () => {
        const { rows } = await db.pool.query<{ id: string; document: object }>(
          `with page as materialized (select c.id from (${CANDIDATES[scope]}) c where c.id > $2::uuid order by c.id limit $3)
            select p.id, (select troupe.message_document(x) from troupe.messages x where x.id = p.id) as document from page p order by p.id`,
          [entityId ?? project, after, limit],
        );
        after = rows.at(-1)?.id ?? after;
        return rows.map(({ document }) => document);
      });
      console.log(
        `${scope.padEnd(8)} pages of ${String(limit).padEnd(5)} ${pulled.postgres.toFixed(0).padStart(5)} µs in Postgres and ${pulled.node.toFixed(0)} in Node per document; ` +
          `row by row ${perRow.postgres.toFixed(0)} and ${perRow.node.toFixed(0)}: ${((perRow.postgres + perRow.node) / (pulled.postgres + pulled.node)).toFixed(1)} times`,
      );
    }
  }
}

/** Microseconds per document. */
async function measure(
  db: Database,
  page: () => Promise<object[]>,
): Promise<{ postgres: number; node: number }> {
  await page();
  const before = await backendCpu(db);
  const node = process.cpuUsage();
  let documents = 0;
  while (documents < PULLED) {
    const some = await page();
    JSON.stringify(some);
    documents += some.length;
    if (some.length === 0) throw new Error('The database has too few messages.');
  }
  const { user, system } = process.cpuUsage(node);
  return {
    postgres: (((await backendCpu(db)) - before) * 1_000) / documents,
    node: (user + system) / documents,
  };
}

/** Milliseconds of CPU that the backends have used; Linux counts them in hundredths of a second. */
async function backendCpu(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name like 'bench%'`,
  );
  return rows.reduce((sum, { pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
