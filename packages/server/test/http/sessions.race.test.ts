import type { BusyPolicy } from '@troupe/protocol';
import { violations } from '@troupe/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { SessionStage } from './session-stage.ts';

const POLICIES: BusyPolicy[] = ['queue', 'steer', 'interrupt', 'reject'];

let stage: SessionStage;
afterEach(() => stage.close());

function open(apart: boolean): Promise<SessionStage> {
  return SessionStage.open({
    apart,
    script: ({ step }) => (step === 1 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' }),
    tools: { echo: () => 'x' },
    toolList: [{ name: 'echo' }],
  });
}

describe('a session that is deleted while others use it', () => {
  for (const apart of [false, true]) {
    it(`leaves nothing behind and breaks nothing, ${apart ? 'serve and work apart' : 'in one process'}`, async () => {
      stage = await open(apart);
      const seen = new Set<string>();
      await Promise.all(
        Array.from({ length: 12 }, async (_, place) => {
          const session = await stage.create();
          const path = `${stage.sessions}/${session.id}`;
          const posts = Array.from({ length: 6 }, async (_, index) => {
            const policy = POLICIES[(place + index) % 4];
            const { status } = await stage.ask('POST', `${path}/messages`, {
              content: { text: 'go' },
              policy,
            });
            seen.add(`post ${status}`);
            if (index !== place % 6) return;
            const deleted = await Promise.all([stage.ask('DELETE', path), stage.ask('DELETE', path)]);
            for (const answer of deleted) seen.add(`delete ${answer.status}`);
          });
          await Promise.all(posts);
          expect((await stage.ask('GET', path)).status).toBe(404);
        }),
      );
      expect([...seen].filter((one) => !/^(post (201|404|409)|delete (204|404))$/.test(one))).toEqual([]);
      expect(seen).toContain('delete 204');
      expect(await violations(stage.db.pool)).toEqual([]);
      const { rows } = await stage.db.pool.query(
        `select (select count(*) from troupe.sessions) as sessions, (select count(*) from troupe.threads) as threads,
          (select count(*) from troupe.runs) as runs, (select count(*) from troupe.messages) as messages,
          (select count(*) from troupe.events) as events, (select count(*) from troupe.run_heads) as heads,
          (select count(*) from troupe.run_steps) as steps, (select count(*) from troupe.tool_calls) as calls`,
      );
      expect(rows).toEqual([
        { sessions: 0, threads: 0, runs: 0, messages: 0, events: 0, heads: 0, steps: 0, calls: 0 },
      ]);
      // Whoever worked on what is gone is free again.
      const session = await stage.create();
      const { run } = await stage.say(session, 'go');
      expect((await stage.kernel.ended(run!.id)).status).toBe('completed');
    });
  }
});

describe('many messages at once', () => {
  it('are all answered, each once, in the order of their numbers', async () => {
    stage = await SessionStage.open({
      script: ({ messages }) => ({ text: `re: ${(messages.at(-1) as { text: string }).text}` }),
    });
    const session = await stage.create();
    const posted = await Promise.all(
      Array.from({ length: 20 }, (_, index) => stage.say(session, `message ${index}`)),
    );
    await Promise.all(posted.map(({ run }) => stage.kernel.ended(run!.id)));
    const messages = await stage.messages(session);
    const texts = (role: string) =>
      messages.filter((one) => one.role === role).map(({ content }) => (content as { text: string }).text);
    expect(texts('user')).toHaveLength(20);
    expect(texts('assistant')).toEqual(texts('user').map((text) => `re: ${text}`));
    expect(await violations(stage.db.pool)).toEqual([]);
  });
});
