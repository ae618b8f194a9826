import { migrate } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { readSchemaSource } from '../../src/store/migrate.ts';

test('gives versions of networks ids and snapshots of their own when it upgrades', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'), null);
  const source = readSchemaSource();
  const at = source.migrations.findIndex(({ name }) => name.endsWith('_network_version_ids'));
  const before = source.migrations.slice(0, at);
  const first = source.objects.filter(({ file }) => file.startsWith('base/'));
  await migrate(url, { ...source, migrations: before, objects: first });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`
      insert into troupe.projects (id, name) values ('00000000-0000-7000-8000-000000000001', 'p');
      insert into troupe.compiled_snapshots (id, project_id, checksum, compiled)
        select ('00000000-0000-7000-8000-0000000000a' || n)::uuid, p.id, repeat(n::text, 64), '{"kind": "network"}'
        from troupe.projects p, generate_series(1, 2) n;
      insert into troupe.networks (id, project_id, name, status, current_version, policy, response, log_policy)
        select '00000000-0000-7000-8000-0000000000b1', id, 'n', 'published', 3, '{}', '{}', '{}' from troupe.projects;
      insert into troupe.network_versions (network_id, version, snapshot_id, definition, created_by, published_by)
        select n.id, v, ('00000000-0000-7000-8000-0000000000a' || s)::uuid, '{}', 'me', 'me'
        from troupe.networks n, (values (1, 1), (2, 2), (3, 1)) x(v, s);
      insert into troupe.tools (id, project_id, name, kind, description, input_schema, effect, params)
        select '00000000-0000-7000-8000-0000000000c1', id, 't', 'echo', '', '{}', 'pure',
          '[{"name": "a", "default": null}, {"name": "b"}]' from troupe.projects`);
    await migrate(url, source);
    const { rows } = await client.query(`
      select v.version, v.id = n.current_version_id as current, v.created_at = v.published_at as dated,
        v.snapshot_id, s.checksum, s.shared
      from troupe.network_versions v join troupe.networks n on n.id = v.network_id
        join troupe.compiled_snapshots s on s.id = v.snapshot_id order by v.version`);
    expect(rows).toMatchObject([
      { version: 1, current: false, dated: true, checksum: '1'.repeat(64), shared: false },
      { version: 2, current: false, dated: true, checksum: '2'.repeat(64), shared: false },
      { version: 3, current: true, dated: true, checksum: '1'.repeat(64), shared: false },
    ]);
    expect(new Set(rows.map(({ snapshot_id }) => snapshot_id)).size).toBe(3);
    const { rows: tools } = await client.query('select params from troupe.tools');
    expect(tools).toEqual([{ params: [{ name: 'a', defaultValue: null }, { name: 'b' }] }]);
  } finally {
    await client.end();
    await drop();
  }
});
