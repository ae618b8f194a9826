import { type Agent, type AgentDefinition, agentDefinition } from '@troupe/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readFile } from '../../src/definitions/agents/files/read.ts';
import { writeFile } from '../../src/definitions/agents/files/write.ts';
import { AgentsFixture } from './fixture.ts';

const formats = ['markdown', 'yaml', 'json'] as const;
const types = { markdown: 'text/markdown', yaml: 'application/yaml', json: 'application/json' };

/** Text that files are likely to get wrong, among any other. */
const awkward = fc.constantFrom(
  '---',
  '\n---\n',
  '---\nname: x\n---\n',
  '\r\n',
  '\r',
  '\n',
  '  indented\n\ttab',
  'trailing \n \n',
  '# not a comment',
  'yes',
  'null',
  '~',
  '0x1f',
  '1e3',
  '2026-01-01',
  '- item',
  'key: value',
  '{a: b}',
  '&anchor *alias !tag',
  '\u0085\u2028\u2029\ufeff',
  '"quoted" \'twice\'',
  '%TAG',
  '...',
  '|',
  '>-',
);
const text = fc
  .array(fc.oneof(awkward, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' })), { maxLength: 4 })
  .map((parts) => parts.join('').toWellFormed().replaceAll('\0', ''));
const key = text.map((value) => value.slice(0, 20).toWellFormed()).filter((value) => value !== '__proto__');
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0 || 0),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(key, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const name = text.map((given) => `n${given.slice(0, 50).toWellFormed()}`.trim());
const tag = text.map((given) =>
  `t${given
    .slice(0, 20)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '')}`.trim(),
);

const definition: fc.Arbitrary<AgentDefinition> = fc
  .record(
    {
      name,
      description: fc.option(text),
      systemPrompt: text,
      defaultModelId: fc.option(fc.uuid()),
      fallbackModelIds: fc.array(fc.uuid(), { maxLength: 3 }),
      tags: fc.array(tag, { maxLength: 3 }),
      capabilities: fc.array(
        fc.record({
          id: fc.constantFrom('noop', 'current_time'),
          config: fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true }),
        }),
        { maxLength: 2 },
      ),
      limits: fc.record({ steps: fc.integer({ min: 1, max: 1000 }) }, { requiredKeys: [] }),
      inDoubt: fc.constantFrom('tell', 'wait'),
      metadata: fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true }),
    },
    { requiredKeys: ['name'], noNullPrototype: true },
  )
  .map((fields) => agentDefinition.parse(fields));

test('a file reads as exactly what was written, in every format, named or sniffed', () => {
  fc.assert(
    fc.property(definition, (given) => {
      for (const format of formats) {
        const file = writeFile(given, format);
        expect(readFile(file, types[format])).toEqual(given);
        expect(readFile(file, 'text/plain')).toEqual(given);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('a file is what a person would write', () => {
  const given = agentDefinition.parse({
    name: 'Helper',
    systemPrompt: 'You help.\n\nBe short.',
    tags: ['a'],
    limits: { steps: 5 },
  });
  expect(writeFile(given, 'markdown')).toBe(`---
name: Helper
tags:
  - a
limits:
  steps: 5
---

You help.

Be short.
`);
  expect(writeFile(given, 'yaml')).toContain('systemPrompt: |-\n  You help.\n');
});

test('files of Windows and files without an end are read', () => {
  const windows = '---\r\nname: w\r\ntags: [a]\r\n---\r\n\r\nLine one\r\nLine two\r\n';
  expect(readFile(windows, 'text/markdown')).toMatchObject({
    name: 'w',
    tags: ['a'],
    systemPrompt: 'Line one\r\nLine two',
  });
  expect(readFile('---\nname: e\n---', 'text/markdown')).toMatchObject({ name: 'e', systemPrompt: '' });
  expect(readFile('---\nname: marked as a document\n', 'text/plain').name).toBe('marked as a document');
});

let fixture: AgentsFixture;
beforeAll(async () => {
  fixture = await AgentsFixture.open(inject('postgresUrl'));
});
afterAll(() => fixture.close());

async function importFile(body: string, type: string) {
  return fixture.send<Agent & { code: string; detail: string }>('POST', '/v1/agents/import', { body, type });
}

test('an agent that is exported and imported again does not change; elsewhere it is the same', async () => {
  const agent = await fixture.createAgent({
    name: 'Über "agent"',
    description: 'One\n---\ntwo',
    systemPrompt: '\n---\nYou help.  \n\n',
    tags: ['yes', '1'],
    capabilities: [{ id: 'current_time' }],
    limits: { tokens: 5 },
    inDoubt: 'wait',
    metadata: { a: [1, null, { b: 'null' }] },
  });
  for (const format of formats) {
    const file = await fixture.send<string>('GET', `/v1/agents/${agent.id}/export?format=${format}`);
    expect(file.headers.get('content-type')).toBe(`${types[format]}; charset=utf-8`);
    const ending = format === 'markdown' ? 'md' : format;
    expect(file.headers.get('content-disposition')).toBe(`attachment; filename="u-ber-agent.${ending}"`);
    const again = await importFile(file.body, types[format]);
    expect([again.status, again.body]).toEqual([200, agent]);
    const elsewhere = await fixture.send<Agent>('POST', '/v1/agents/import', {
      body: file.body,
      type: 'text/plain',
      as: fixture.there,
    });
    const { id, entityId, createdAt, updatedAt, ...same } = agent;
    expect(elsewhere.body).toMatchObject(same);
    expect(elsewhere.body.id).not.toBe(id);
  }
  const plain = await fixture.send<string>('GET', `/v1/agents/${agent.id}/export`);
  expect(plain.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
});

test('a file says all of an agent: what it leaves out is the default', async () => {
  const agent = await fixture.createAgent({ name: 'replaced', description: 'old', tags: ['old'] });
  const answer = await importFile('---\nname: REPLACED\n---\nNew prompt\n', 'text/markdown');
  expect(answer.body).toMatchObject({
    id: agent.id,
    name: 'REPLACED',
    description: null,
    tags: [],
    systemPrompt: 'New prompt',
    version: 2,
  });
  expect((await fixture.audit(agent.id)).map(({ action }) => action)).toEqual([
    'agent.created',
    'agent.imported',
  ]);
});

test('imports of one name at once make one agent', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      importFile(`name: crowd\nsystemPrompt: "${index}"\n`, 'text/plain'),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect(answers.map(({ body }) => body.version).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('files that cannot be read or say too much are refused, with the names of what is wrong', async () => {
  const { agents } = await fixture.db.rows
    .selectFrom('agents')
    .select((count) => count.fn.countAll<number>().as('agents'))
    .executeTakeFirstOrThrow();
  const bomb = `a: &a [x,x]\n${'bcdefghi'
    .split('')
    .map((letter, index) => `${letter}: &${letter} [*${'abcdefghi'[index]},*${'abcdefghi'[index]}]\n`)
    .join('')}`;
  const refused: [string, string, string, string?][] = [
    ['---\nname: x\ncolour: red\nsize: 3\n---\nHi', 'text/markdown', 'invalid_request', '"colour", "size"'],
    ['{"name":"x","system_prompt":"p"}', 'application/json', 'invalid_request', '"system_prompt"'],
    ['name: x\nlimits: { hops: 3 }', 'application/yaml', 'invalid_request', '"hops"'],
    ['---\nname: x\nsystemPrompt: y\n---\nHi', 'text/markdown', 'import_unreadable', 'systemPrompt'],
    ['Just a prompt.', 'text/markdown', 'import_unreadable'],
    ['Just a prompt.', 'text/plain', 'invalid_request'],
    ['---\n- a\n---\nHi', 'text/markdown', 'import_unreadable'],
    ['{"name":', 'application/json', 'import_unreadable'],
    ['name: [', 'application/yaml', 'import_unreadable'],
    ['name: a\nname: b', 'application/yaml', 'import_unreadable'],
    ['name: a\n---\nname: b', 'application/yaml', 'import_unreadable'],
    ['name: !!js/function x', 'application/yaml', 'import_unreadable'],
    [`name: x\nmetadata:\n  ${bomb.replaceAll('\n', '\n  ')}`, 'application/yaml', 'import_unreadable'],
    [`name: x\nmetadata: {a: ${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'application/yaml', ''],
    [`{"name":"x","metadata":{"a":${'['.repeat(9_000)}${']'.repeat(9_000)}}}`, 'application/json', ''],
    ['name: "x\\0"', 'application/yaml', 'invalid_request'],
    ['{"name":"x","systemPrompt":"\\ud800"}', 'application/json', 'invalid_request'],
    ['name: x\nmetadata: { a: .inf }', 'application/yaml', 'invalid_request'],
    ['name: x\ncapabilities: [{ id: flying }]', 'application/yaml', 'capability_unknown', '"flying"'],
    ['42', 'application/yaml', 'invalid_request'],
    ['null', 'application/json', 'invalid_request'],
  ];
  for (const [body, type, code, named] of refused) {
    const answer = await importFile(body, type);
    const shown = body.slice(0, 60);
    expect([shown, answer.status]).toEqual([shown, 422]);
    if (code) expect([shown, answer.body.code]).toEqual([shown, code]);
    if (named) expect(answer.body.detail).toContain(named);
  }
  const wrong = await importFile('name: x', 'text/html');
  expect([wrong.status, wrong.body.code]).toEqual([415, 'unsupported_media_type']);
  const after = await fixture.db.rows
    .selectFrom('agents')
    .select((count) => count.fn.countAll<number>().as('agents'))
    .executeTakeFirstOrThrow();
  expect(after.agents).toBe(agents);
});

test('a file brings an archived agent back, changed or not', async () => {
  const agent = await fixture.createAgent({ name: 'asleep', systemPrompt: 'One' });
  const archive = () => fixture.send('DELETE', `/v1/agents/${agent.id}`);
  await archive();
  const same = await importFile('---\nname: asleep\n---\n\nOne\n', 'text/markdown');
  expect(same.body).toMatchObject({ id: agent.id, status: 'active', version: 1 });
  await archive();
  const other = await importFile('---\nname: Asleep\n---\n\nTwo\n', 'text/markdown');
  expect(other.body).toMatchObject({ id: agent.id, status: 'active', version: 2, systemPrompt: 'Two' });
  expect((await fixture.audit(agent.id)).map(({ action }) => action)).toEqual([
    'agent.created',
    'agent.archived',
    'agent.restored',
    'agent.archived',
    'agent.imported',
    'agent.restored',
  ]);
  // What is refused wakes nobody.
  await archive();
  const wrong = await importFile(
    '---\nname: asleep\ncapabilities: [{ id: nothing }]\n---\n\nTwo\n',
    'text/markdown',
  );
  expect(wrong.status).toBe(422);
  expect(await fixture.get(`/v1/agents/${agent.id}`)).toMatchObject({ status: 'archived', version: 2 });
});
