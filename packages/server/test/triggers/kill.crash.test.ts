import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { silentLogger } from '@troupe/server';
import { Engine, openOutgoing } from '@troupe/server/parts';
import { until } from '@troupe/testing';
import { expect, test } from 'vitest';
import { idFrom } from '../../src/base/index.ts';
import { TriggerFixture } from './fixture.ts';

const MOMENTS = ['judging', 'judged', 'claimed', 'sent'] as const;
/** How often the receiver hears of it: a request whose answer nobody wrote down is sent again. */
const HEARD = { judging: 1, judged: 1, claimed: 1, sent: 2 };

test('killed anywhere between a change and the note that it was delivered: another process delivers it, under the same id', async () => {
  const fixture = await TriggerFixture.open({ triggers: false });
  const children: ChildProcess[] = [];
  try {
    const ada = await fixture.sync.person('ada');
    for (const moment of MOMENTS) await fixture.rule(moment);
    for (const moment of MOMENTS) {
      const args = [fixture.sync.server.databaseUrl, moment];
      const child = fork(join(import.meta.dirname, 'engine-process.ts'), args, { execArgv: [] });
      children.push(child);
      const died = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
      await new Promise((resolve) => child.once('message', resolve));
      // One commit: the session and its change. Whoever looks at it dies.
      const session = await fixture.sync.session(ada, moment);
      expect(await died).toBe('SIGKILL');
      const left = {
        changes: await fixture.count('changes'),
        deliveries: (await fixture.deliveries(moment)).map(({ status }) => status),
      };
      expect([moment, left]).toEqual([
        moment,
        {
          changes: moment === 'judging' || moment === 'judged' ? 1 : 0,
          deliveries: moment === 'claimed' || moment === 'sent' ? ['sending'] : [],
        },
      ]);
      // Its lease runs out.
      await fixture.pool.query(
        `update troupe.trigger_deliveries set lease_until = now() where status = 'sending'`,
      );
      const { db, kernel } = fixture.sync.server;
      const engine = new Engine({
        db,
        logger: silentLogger,
        outgoing: openOutgoing(() => db),
        secrets: { reveal: async () => null },
        ownKeys: () => [],
        origin: () => null,
        acts: { db, kernel },
        pollMs: 30,
      });
      engine.start();
      const made = await fixture.ended(moment, 'delivered');
      await engine.close();
      const heard = fixture.heard(`/${moment}`);
      expect([moment, heard.length]).toEqual([moment, HEARD[moment]]);
      expect(new Set(heard.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([made.id]));
      expect(await fixture.deliveries(moment)).toHaveLength(1);
      expect(await fixture.count('changes')).toBe(0);
      // Derived from the rule, its version and the change, so that whoever judges comes to the same.
      const { rows } = await fixture.pool.query(
        'select change_id, changed_at from troupe.trigger_deliveries where id = $1',
        [made.id],
      );
      const { id: trigger } = await fixture.done<{ id: string }>('GET', `/v1/triggers/${moment}`);
      expect([made.id, made.documentId]).toEqual([
        idFrom(`${trigger}:1:${rows[0].change_id}`, rows[0].changed_at),
        session,
      ]);
      // What the dead one began shows as begun.
      if (moment === 'sent')
        expect(made.log).toMatchObject([{ durationMs: null }, { response: { status: 200 } }]);
    }
    await until('nothing left', async () => (await fixture.count('changes')) === 0);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await fixture.close();
  }
});
