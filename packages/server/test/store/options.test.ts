import { Database, silentLogger } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import { expect, inject, it } from 'vitest';

it('options in the address are kept, and do not take the place of ours', async () => {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  const address = new URL(url);
  address.searchParams.set('options', '-c geqo=off -c synchronous_commit=off -c enable_seqscan=on');
  const db = new Database({ url: address.href, applicationName: 'options', logger: silentLogger });
  try {
    const settings = ['geqo', 'synchronous_commit', 'enable_seqscan', 'plan_cache_mode', 'jit'];
    const { rows } = await db.kernel.query(
      `select ${settings.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
    );
    expect(rows[0]).toEqual({
      geqo: 'off',
      synchronous_commit: 'on',
      enable_seqscan: 'off',
      plan_cache_mode: 'force_generic_plan',
      jit: 'off',
    });
  } finally {
    await db.close();
    await drop();
  }
});
