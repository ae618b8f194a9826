import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Invoked } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, until, violations } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { compiled, publish } from './published-network.ts';

test('killed between the start of a run and its answer: the same request to another process gives that run', async () => {
  const key = randomBytes(32);
  const server = await openServer({
    postgresUrl: inject('postgresUrl'),
    encryptionKey: key,
    script: () => ({ text: 'Done.' }),
  });
  const { pool } = server.db;
  const args = [server.databaseUrl, key.toString('base64')];
  const child = fork(join(import.meta.dirname, 'serve-process.ts'), args, { execArgv: [] });
  const died = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  try {
    const { url } = await new Promise<{ url: string }>((resolve) => child.once('message', resolve as never));
    await fetch(`${server.url}/v1/agents`);
    const project = (await pool.query('select id from troupe.projects')).rows[0].id;
    const agent = { key: 'front', prompt: 'I am front.', allowRespond: true };
    const pin = { name: 'pin', source: 'system' as const, required: false, schema: {} };
    const { id } = await publish(
      server.db,
      project,
      compiled({ name: 'desk', tools: [{ key: 'unlock' }], agents: [agent] }, { unlock: { params: [pin] } }),
    );
    const headers = { 'content-type': 'application/json', 'idempotency-key': newId() };
    const body = JSON.stringify({ input: 'go', mode: 'wait', systemParams: { pin: 'abc-9876-plain' } });
    const invoke = (at: string) => fetch(`${at}/v1/networks/desk/invoke`, { method: 'POST', headers, body });

    await expect(invoke(url)).rejects.toThrow();
    expect(await died).toBe('SIGKILL');
    const { rows } = await pool.query('select id from troupe.runs');
    expect(rows).toHaveLength(1);
    // It does not matter what became of the network since.
    await pool.query(`update troupe.networks set status = 'archived' where id = $1`, [id]);

    const again = await until('the lock of the dead process is free', async () => {
      const response = await invoke(server.url);
      return response.status === 409 ? null : response;
    });
    const answer = (await again.json()) as Invoked;
    expect(again.status).toBe(201);
    expect(answer).toMatchObject({
      id: rows[0].id,
      status: 'completed',
      response: { message: 'Done.' },
      network: { id },
    });
    const once = await invoke(server.url);
    expect(once.headers.get('idempotency-replayed')).toBe('true');
    expect(await once.json()).toEqual(answer);
    expect((await pool.query('select id from troupe.runs')).rows).toEqual(rows);
    const { rows: keys } = await pool.query('select to_jsonb(k)::text as row from troupe.idempotency_keys k');
    expect(JSON.stringify(keys)).not.toContain('abc-9876-plain');
    expect(await violations(pool)).toEqual([]);
  } finally {
    child.kill('SIGKILL');
    await server.close();
  }
});
