import { mkdirSync } from 'node:fs';
import { inject, it } from 'vitest';
import { ConsoleStage } from './stage.ts';

it('look', { timeout: 200_000 }, async () => {
  const out = process.env.LOOK_OUT ?? '/tmp/look-runs';
  mkdirSync(out, { recursive: true });
  const stage = await ConsoleStage.open({ postgresUrl: inject('postgresUrl') });
  const { troupe } = stage;
  console.log('open');
  const shot = async (name: string, path: string, { act, ...options }: any = {}) => {
    const page = await stage.page(path, options);

    await page.waitForTimeout(1500);
    if (act) await act(page);
    await page.screenshot({ path: `${out}/${name}.png` });
    await page.goto('about:blank');
  };
  const narrow = { viewport: { width: 390, height: 844 } };
  const wide = { viewport: { width: 1440, height: 900 } };
  const dark = { ...wide, colorScheme: 'dark' };
  await shot('runs-empty', '/runs', wide);
  const agents = (await troupe.agents.list()).data;
  console.log(agents.map((a) => a.name));
  const made = await troupe.agents
    .create({
      body: {
        name: 'Support agent with quite a long name for a column',
        systemPrompt: 'You help people with **things**.\nBe brief.\n'.repeat(10),
        capabilities: [{ id: 'delegation' }, { id: 'current_time' }] as any,
      },
    })
    .catch((e) => (console.log(e), agents[0]!));
  const say = async (text: string) => {
    const session = await troupe.open(made.id);
    return session.sendAndWait(text).catch((e) => {
      console.log(text, String(e));
      return null;
    });
  };
  for (const text of [
    'How much is 2+2?',
    'what time is it',
    'ask the researcher what time it is',
    'Tell me about a very long question that goes on and on, '.repeat(8),
    'hello',
    'delegate to general: ask me which colour',
  ])
    await say(text);
  for (let i = 0; i < 30; i++) await say(`How much is ${i} + ${i}?`);
  const { data: runs } = await troupe.runs.list({ query: { limit: 100 } });
  console.log(
    runs.map((r) => `${r.status} ${r.door} ${r.step} ${r.asked?.slice(0, 40)} ${r.error?.code}`).join('\n'),
  );
  const delegating = runs.find((r) => r.asked?.startsWith('ask the researcher'))!;
  const sum = runs.find((r) => r.asked?.startsWith('How much is 2+2'))!;
  await stage.server.db.pool.query(
    `update troupe.runs set status='failed', error='{"code":"model_quota","message":"The account has nothing left.","retryable":false}' where id = $1`,
    [runs[3]!.id],
  );
  await shot('runs', '/runs', wide);
  await shot('runs-dark', '/runs?status=completed,failed', dark);
  await shot('runs-narrow', '/runs', narrow);
  await shot('runs-selected', '/runs', {
    ...wide,
    act: async (p: any) => {
      await p.keyboard.press('j');
      await p.keyboard.press('x');
      await p.keyboard.press('j');
      await p.keyboard.press('x');
      await p.waitForTimeout(300);
    },
  });
  await shot('run', `/runs/${delegating.id}`, wide);
  await shot('run-failed', `/runs/${runs[3]!.id}`, dark);
  await shot('run-narrow', `/runs/${delegating.id}`, narrow);
  await shot('timeline', `/runs/${delegating.id}?tab=timeline`, {
    ...wide,
    act: async (p: any) => {
      await p
        .locator('.troupe-timeline-row, [role=row], [role=option]')
        .nth(2)
        .click()
        .catch(() => {});
      await p.waitForTimeout(300);
    },
  });
  await shot('timeline-narrow', `/runs/${delegating.id}?tab=timeline`, narrow);
  await shot('steps', `/runs/${delegating.id}?tab=steps&step=1`, wide);
  await shot('prompt', `/runs/${delegating.id}?tab=steps&step=2`, {
    ...dark,
    act: async (p: any) => {
      await p.getByRole('button', { name: 'Prompt', exact: true }).click();
      await p.waitForTimeout(1500);
    },
  });
  await shot('events', `/runs/${delegating.id}?tab=events&event=5`, wide);
  await shot('events-narrow', `/runs/${delegating.id}?tab=events&event=5`, narrow);
  await shot('messages', `/runs/${delegating.id}?tab=messages`, wide);
  await shot('fork', `/runs/${delegating.id}`, {
    ...wide,
    act: async (p: any) => {
      await p.getByRole('button', { name: 'Fork' }).click();
      await p.waitForTimeout(500);
      await p
        .getByRole('button', { name: /Change User/ })
        .first()
        .click();
      await p.waitForTimeout(200);
    },
  });
  await shot('compare', `/runs/compare?a=${delegating.id}&b=${sum.id}`, {
    ...wide,
    act: async (p: any) => {
      await p.getByRole('button', { name: /Step 1/ }).click();
      await p.waitForTimeout(200);
    },
  });
  await shot('compare-dark', `/runs/compare?a=${runs[1]!.id}&b=${sum.id}`, dark);
  await shot('workers', '/workers', wide);
  await shot('workers-narrow', '/workers', narrow);
  await shot('usage', '/usage?range=1h', {
    ...wide,
    act: async (p: any) => {
      await p.mouse.move(1380, 450);
      await p.waitForTimeout(200);
    },
  });
  await shot('usage-dark', '/usage', { ...dark, viewport: { width: 1440, height: 1500 } });
  await shot('usage-narrow', '/usage?range=7d', { viewport: { width: 390, height: 1800 } });
  console.log(stage.pageErrors, stage.strayRequests);
  await stage.close();
});
