import { Database, newId, silentLogger } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { pullChanges } from '../../src/sync/pull.ts';
import { after } from '../after.ts';
import { buildConversations } from './conversations.ts';
import { SyncFixture } from './fixture.ts';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The plan of the statement that a pull sends, as it was executed. */
async function planOfPull(db: Database, pull: () => Promise<unknown>): Promise<{ root: Node; text: string }> {
  const query = db.pool.query.bind(db.pool);
  const sent: { text: string; values: unknown[] }[] = [];
  db.pool.query = ((statement: { text: string; values: unknown[] }) => {
    sent.push(statement);
    return query(statement);
  }) as never;
  try {
    await pull();
  } finally {
    db.pool.query = query as never;
  }
  expect(sent).toHaveLength(1);
  const { text, values } = sent[0]!;
  const { rows } = await query({ text: `explain (analyze, verbose, buffers, format json) ${text}`, values });
  return { root: rows[0]['QUERY PLAN'][0].Plan, text: JSON.stringify(rows) };
}

test('a page of a first sync is one statement, whose cost does not grow with the messages that are left', async () => {
  const buffers: Record<string, number[]> = { project: [], person: [] };
  for (const perSession of [2_000, 8_000]) {
    const { url, drop } = await createDatabase(inject('postgresUrl'));
    after(drop);
    const db = new Database({ url, applicationName: 'troupe/test', logger: silentLogger });
    after(() => db.close());
    const { project, person } = await buildConversations(db, 10 * perSession, perSession);
    for (const [whose, entityId] of [
      ['project', null],
      ['person', person],
    ] as const) {
      const scope = { project, entityId, chat: null };
      const { checkpoint } = await pullChanges(db, 'messages', scope, { limit: 100 });
      const { root, text } = await planOfPull(db, () =>
        pullChanges(db, 'messages', scope, { checkpoint, limit: 100 }),
      );
      buffers[whose]!.push(root['Shared Hit Blocks'] + root['Shared Read Blocks']);
      // No function is called for each document; rows are found by indexes.
      expect(text).not.toContain('message_document');
      expect(
        nodesOf(root).filter(
          (node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'messages',
        ),
      ).toEqual([]);
    }
  }
  // Four times as many messages. Pages of 100 documents: at most ten pages of Postgres for each.
  for (const [few, many] of Object.values(buffers)) {
    expect(few!).toBeLessThan(1_000);
    expect(many!).toBeLessThan(few! * 1.3);
  }
});

test('documents that are made of columns are those that the database makes of a message', async () => {
  const fixture = await SyncFixture.open();
  after(() => fixture.close());
  const { db } = fixture.server;
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')];
  const session = await fixture.session(ada);
  const space = await fixture.space(ada, bob);
  await fixture.say(ada, session, 'hello');
  const { run } = await fixture.task(ada, session);
  const { rows } = await db.pool.query(
    `select id from troupe.sessions s where s.id = $1 union all select thread_id from troupe.sessions where id = $1`,
    [session],
  );
  const contents: [role: string, content: object][] = [
    ['user', { text: 'words', parts: [{ type: 'text', text: 'words' }] }],
    ['user', { text: null, parts: null }],
    ['assistant', { text: 'answer "quoted" \n ü' }],
    ['assistant', {}],
    ['tool_call', { name: 'search', arguments: { q: null, n: 1.5 }, tool: { name: 'other' } }],
    ['tool_call', { tool: { name: 'search', of: null } }],
    ['tool_result', { result: { b: 1, a: [1, { c: null }] } }],
    ['tool_result', { result: 'text', error: null }],
    ['tool_result', { result: null, error: { code: 'x', message: 'failed' } }],
    ['tool_result', { result: 12 }],
  ];
  const metadata = [{}, { own: { a: null } }, { 'troupe:run': newId(), runContext: { a: 1 }, kept: 1 }];
  let seq = 1_000;
  for (const thread of [rows[1].id, space])
    for (const [role, content] of contents)
      for (const notes of metadata)
        await db.pool.query(
          `insert into troupe.messages (thread_id, seq, id, role, content, metadata, sender_id, run_id, step, tool_call_id, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() - random() * interval '1 hour')`,
          [
            thread,
            ++seq,
            newId(),
            role,
            JSON.stringify(content),
            JSON.stringify(notes),
            seq % 3 === 0 ? bob.id : null,
            seq % 2 === 0 ? run : null,
            seq % 2 === 0 ? 1 : null,
            role.startsWith('tool') ? 'call_1' : null,
          ],
        );
  for (const headers of [ada.headers, fixture.key]) {
    const { documents } = await fixture.pullAll(headers, 'messages', { limit: 7 });
    const { rows: made } = await db.pool.query(
      'select troupe.message_document(m) as document from troupe.messages m where m.id = any($1) order by m.id',
      [documents.map(({ id }) => id)],
    );
    expect(documents.length).toBeGreaterThan(60);
    expect(documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      made.map(({ document }) => ({ ...document, _deleted: false })),
    );
  }
});
