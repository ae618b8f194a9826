import { type TestServer, until } from '@troupe/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleFixture } from './fixture.ts';

const EVENTS = 50_000;
let fixture: ConsoleFixture;
let agentId: string;
/** The run of each thing that was said. */
const runs: Record<string, string> = {};

beforeAll(async () => {
  fixture = await ConsoleFixture.open({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) => {
      const user = messages.findLast(({ role }) => role === 'user');
      const asked = user?.role === 'user' ? user.text : '';
      if (asked.startsWith('Hold')) return { stallForever: true };
      if (asked.startsWith('Break'))
        return { error: { code: 'model_quota', message: 'The account has nothing left.', retryable: false } };
      if (asked.startsWith('Look') && messages.at(-1)?.role === 'user')
        return { text: 'I will look at the clock.', calls: [{ name: 'get_current_time' }] };
      return { text: `You said: ${asked}` };
    },
  });
  const body = {
    name: 'Clockmaker',
    systemPrompt: 'You are a patient clockmaker.',
    capabilities: [{ id: 'current_time' }],
  };
  agentId = (await fixture.troupe.agents.create({ body })).id;
  await Promise.all(['Hello there', 'Look at the clock', 'Break it', 'Hold one', 'Hold two'].map(begin));
});
afterAll(() => fixture?.close());

async function begin(text: string): Promise<void> {
  const session = await fixture.troupe.open(agentId);
  await session.send(text);
  const settled = text.startsWith('Hold') ? ['running'] : ['completed', 'failed'];
  const run = await until(`${text}: ${settled}`, async () => {
    const [found] = (await fixture.troupe.runs.list({ query: { sessionId: session.id } })).data;
    return found && settled.includes(found.status) ? found : null;
  });
  runs[text] = run.id;
}

/** The rows of the list, by what was asked. */
const asked = (page: Page) => page.locator('tr[data-run] a').allTextContents();
const shows = (page: Page, texts: string[]) =>
  until(`the list shows ${texts}`, async () => {
    const seen = await asked(page);
    return seen.length === texts.length && texts.every((text) => seen.includes(text));
  });
const search = (page: Page) => new URL(page.url()).searchParams;

it('finds runs by filters that are in the address, and keeps them under a name', async () => {
  // What an address cannot mean is left out, of the list and of the address.
  const page = await fixture.page('/runs?status=failed,lost&since=yesterday&agentId=nobody');
  await shows(page, ['Break it']);
  expect(search(page).toString()).toBe('status=failed');
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await shows(page, Object.keys(runs));
  await page.getByRole('button', { name: 'Any status' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Completed' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Failed' }).click();
  await page.keyboard.press('Escape');
  await shows(page, ['Hello there', 'Look at the clock', 'Break it']);
  expect(search(page).get('status')).toBe('completed,failed');
  await page.keyboard.press('/');
  await page.getByLabel('Search runs').fill('clock');
  await shows(page, ['Look at the clock']);
  expect(search(page).get('search')).toBe('clock');
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByLabel('Name').fill('Of clocks');
  await page.getByRole('dialog').getByRole('button', { name: 'Save view' }).click();
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await page.getByLabel('Door').selectOption('Network');
  await page.getByText('No run fits these filters').waitFor();
  await page.goBack();
  await shows(page, Object.keys(runs));
  await page.getByRole('link', { name: 'Of clocks' }).click();
  await shows(page, ['Look at the clock']);
  await page.reload();
  await shows(page, ['Look at the clock']);
  expect(await page.getByRole('link', { name: 'Of clocks' }).getAttribute('aria-current')).toBe('page');
  await page.close();
});

it('cancels several at once by keyboard, and says of each what became of it', async () => {
  const page = await fixture.page('/runs');
  await page.getByRole('link', { name: 'Running', exact: true }).click();
  await shows(page, ['Hold one', 'Hold two']);
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  await page.getByText('2 selected').waitFor();
  // One of them has ended before it comes to it.
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await fixture.troupe.runs.cancel({ params: { runId: runs['Hold one']! } });
  await page.getByRole('button', { name: 'Cancel 2 runs' }).click();
  await page.getByText('1 of 2 done, 1 refused.').waitFor();
  expect(await page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'Refused' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Close' }).last().click();
  await page.getByText('No run fits these filters').waitFor();
  const { status } = await fixture.troupe.runs.get({ params: { runId: runs['Hold two']! } });
  expect(status).toBe('canceled');
  await page.close();
});

it('shows why a run failed, where its time went, and what the model was given', async () => {
  const page = await fixture.page('/runs');
  await shows(page, Object.keys(runs));
  await page.getByRole('link', { name: 'Break it' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Raise it there, or retry with another model.').waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The run is queued.').waitFor();

  await page.goto(`${fixture.server.url}/runs/${runs['Look at the clock']}`);
  await page.getByText('You said: Look at the clock').waitFor();
  await page.getByRole('tab', { name: 'Timeline' }).click();
  await page.getByText('get_current_time').first().click();
  await page.getByRole('link', { name: 'To step 1' }).click();
  expect(search(page).get('tab')).toBe('steps');
  await page.getByText('I will look at the clock.').waitFor();
  await page.getByRole('button', { name: 'Prompt', exact: true }).click();
  const prompt = page.getByRole('region', { name: 'Prompt of step 1' });
  await prompt.getByText('Exactly what was sent').waitFor();
  await prompt.getByText('You are a patient clockmaker.').waitFor();
  await prompt.getByText('Look at the clock').waitFor();
  await page.getByRole('tab', { name: 'Messages' }).click();
  await page.getByRole('list', { name: 'Messages' }).getByText('You said: Look at the clock').waitFor();
  await page.close();
});

it('forks from a step with another message, and puts the two side by side', async () => {
  const page = await fixture.page(`/runs/${runs['Hello there']}?tab=steps&step=1`);
  await page.getByRole('button', { name: 'Fork after this step' }).click();
  expect(await page.getByLabel('After step').inputValue()).toBe('1');
  await page.getByLabel('After step').selectOption('Before step 1');
  await page.getByRole('button', { name: /^Change User/ }).click();
  await page.getByRole('textbox', { name: /^User/ }).fill('Good evening');
  await page.getByRole('button', { name: 'Fork and run' }).click();
  await page.getByText('You said: Good evening').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Compare with what it was forked from' }).click();
  const answers = page.getByRole('region', { name: 'What they answered' });
  await answers.getByText('Removed: You said: Hello there').waitFor();
  await answers.getByText('Added: You said: Good evening').waitFor();
  await page.getByRole('button', { name: /^Step 1/ }).click();
  await page.getByRole('button', { name: 'Compare the prompts' }).click();
  await page.getByRole('region', { name: 'Prompts of step 1' }).getByText('Added: Good evening').waitFor();
  await page.close();
});

it('stays smooth with fifty thousand events', async () => {
  const runId = runs['Look at the clock']!;
  const last = await addEvents(fixture.server, runId, EVENTS);
  const page = await fixture.page(`/runs/${runId}?tab=events`);
  const list = page.getByRole('region', { name: 'Events' });
  await list.getByText('run.queued').first().waitFor();

  // All the way down, as fast as pages come.
  const seen = await list.evaluate(scrollThrough, last);
  expect(seen.lastSequence).toBe(last);
  expect(seen.mostRows).toBeLessThan(200);
  expect(seen.inOrder).toBe(true);
  expect(seen.averageFrame).toBeLessThan(100);
  await page.getByText(`${last.toLocaleString('en')} events`).waitFor();

  // Straight to the end, and a little up from there: what is put in above does not move what is looked at.
  await page.reload();
  await list.getByText('run.queued').first().waitFor();
  await page.getByRole('button', { name: 'End', exact: true }).click();
  await list.locator(`[data-sequence="${last}"]`).click();
  await page.getByRole('complementary', { name: 'Event' }).getByText(`"number": ${EVENTS}`).waitFor();
  await list.evaluate((element) => {
    element.scrollTop -= 3_000;
  });
  await list.locator(`[data-sequence="${last - 110}"]`).waitFor();
  await until('more was put in', async () =>
    /1,600 loaded/.test((await page.getByRole('status').first().textContent()) ?? ''),
  );
  await list.locator(`[data-sequence="${last - 110}"]`).waitFor();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await list.locator('[data-sequence="1"]').waitFor();

  await page.getByLabel('Types of events').selectOption('run.completed');
  await until('only these', async () => (await list.locator('button').count()) === 1);
  await page.getByLabel('Types of events').selectOption('All types');
  await page.getByLabel('Search events').fill('"number":1500}');
  await until('the one', async () => (await list.locator('button').count()) === 1);
  await page.close();
});

/** As a crowd of tools would write them. Answers with the sequence of the last one. */
async function addEvents({ db }: TestServer, run: string, count: number): Promise<number> {
  const { rows } = await db.pool.query<{ last: string }>(
    `with thread as (
       update troupe.threads set last_event_seq = last_event_seq + $2::int
       where id = (select thread_id from troupe.runs where id = $1) returning id, last_event_seq - $2::int as base),
     written as (
       insert into troupe.event_batches (thread_id, last_seq, run_id, entries)
       select t.id, t.base + n, $1, json_build_array(json_build_array('step.started',
         json_build_object('number', n, 'note', repeat('a piece of data ', 8)), null, 1))
       from thread t, generate_series(1, $2::int) n returning last_seq)
     select max(last_seq) as last from written`,
    [run, count],
  );
  return Number(rows[0]!.last);
}

/** What of the page is used below, where this file is no part of it. */
interface Scrolled {
  scrollTop: number;
  querySelectorAll(selector: string): Iterable<{ dataset: { sequence: string } }>;
}
declare const requestAnimationFrame: (act: (time: number) => void) => void;

/** In the page: scrolls 600 rows per frame from the start until the last event is there. */
async function scrollThrough(element: Scrolled, last: number) {
  const rows = () => [...element.querySelectorAll('[data-sequence]')];
  const seen = { lastSequence: 0, mostRows: 0, inOrder: true, averageFrame: 0 };
  const began = performance.now();
  let frames = 0;
  while (seen.lastSequence < last && performance.now() - began < 60_000) {
    element.scrollTop += 18_000;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    frames++;
    const sequences = rows().map(({ dataset }) => Number(dataset.sequence));
    seen.mostRows = Math.max(seen.mostRows, sequences.length);
    seen.inOrder &&= sequences.every((each, index) => index === 0 || each > sequences[index - 1]!);
    seen.lastSequence = sequences.at(-1) ?? 0;
  }
  seen.averageFrame = (performance.now() - began) / frames;
  return seen;
}

it('asked nobody else, and threw nothing', () => {
  expect(fixture.strayRequests).toEqual([]);
  expect(fixture.pageErrors).toEqual([]);
});
