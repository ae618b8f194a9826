import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isLong, sampleSeed } from '@troupe/testing';
import type { AxeResults } from 'axe-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MARKDOWN } from '../gallery/markdown.ts';
import { type Gallery, openGallery } from './fixture.ts';

const { resolve } = createRequire(import.meta.url);
type Box = Record<'left' | 'right' | 'top' | 'bottom', number>;
let gallery: Gallery;
beforeAll(async () => {
  gallery = await openGallery();
});
afterAll(() => gallery.close());

/** What an element that shows JSON shows. */
const shown = async (selector: string) => JSON.parse((await gallery.page.textContent(selector)) ?? 'null');
const focused = () =>
  gallery.page.evaluate<string>(
    '(document.activeElement.dataset.task ?? document.activeElement.textContent)',
  );
/** Waits until the text of an element has this in it. */
const says = (id: string, part: string) =>
  gallery.page.waitForFunction(`document.getElementById('${id}').textContent.includes('${part}')`);
const boxesAre = (count: number) =>
  gallery.page.waitForFunction(
    `document.querySelectorAll('#graph-edit .react-flow__node').length === ${count}`,
  );

it('everything is shown, without a request to anybody else', async () => {
  const { page, remote, errors } = gallery;
  await gallery.open();
  await page.waitForSelector('#Graphs .troupe-node');
  // Pictures further down are loaded when they come into sight.
  await page.locator('#Messages .troupe-picture').first().scrollIntoViewIfNeeded();
  await page.locator('#Streaming').scrollIntoViewIfNeeded();
  expect(remote).toEqual([]);
  const sources = await page
    .locator('img')
    .evaluateAll((images) => images.map((image) => image.getAttribute('src')));
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.filter((source) => !source?.startsWith('data:'))).toEqual([]);
  expect(await page.locator('#Messages a[href^="https://tracker.invalid/pixel.png"]').count()).toBe(1);
  expect(await page.locator('#Messages a[target=_blank]:not([rel~=noopener])').count()).toBe(0);
  expect(errors).toEqual([]);
});

it('nothing in what somebody wrote runs', async () => {
  const { page } = gallery;
  const links = page.locator('#Messages .troupe-markdown a');
  const addresses = await links.evaluateAll((found) => found.map((link) => link.getAttribute('href') ?? ''));
  expect(addresses.filter((address) => !/^(https?:|#)/.test(address))).toEqual([]);
  expect(
    await page.locator('.troupe-markdown :is(script, iframe, style, source, b, picture, object)').count(),
  ).toBe(0);
  expect(await page.locator('.troupe-markdown [onerror], .troupe-markdown [onclick]').count()).toBe(0);
  for (const words of ['click me', 'or me']) await page.getByText(words).first().click();
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(page.url().startsWith(gallery.origin)).toBe(true);
});

it.each(['light', 'dark'])('nobody is kept out: %s', async (theme) => {
  const { page } = gallery;
  await gallery.open(`theme=${theme}`);
  await page.waitForSelector('#Graphs .troupe-node');
  await page.addScriptTag({ path: resolve('axe-core/axe.min.js') });
  const violations = await page.evaluate<AxeResults['violations']>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    grave.map(({ id, nodes }) => [id, nodes.slice(0, 5).map(({ html, any }) => [html, any[0]?.message])]),
  ).toEqual([]);
});

it('text that is being written is shown at every moment, and ends as if it had come at once', async () => {
  const { page, errors } = gallery;
  await gallery.open('only=Streaming');
  // As it comes over the wire: cut within characters, words and constructs.
  const ended = await page.evaluate<{ isSame: boolean; shortest: number; length: number }>(`(() => {
    const whole = ${JSON.stringify(MARKDOWN)};
    const place = document.getElementById('stream');
    const bytes = new TextEncoder().encode(whole);
    let shortest = Infinity;
    for (let end = ${isLong ? 1 : 1 + (sampleSeed % 4)}; end <= bytes.length; end += ${isLong ? 1 : 4}) {
      feed(new TextDecoder().decode(bytes.subarray(0, end)), true);
      if (end > 10) shortest = Math.min(shortest, place.textContent.length);
    }
    // Ids are given anew to what is drawn anew.
    const drawn = () => place.innerHTML.replaceAll(/_r_\\w+_/g, '');
    feed(whole, false);
    const streamed = drawn();
    feed('', false);
    feed(whole, false);
    return { isSame: streamed === drawn(), shortest, length: streamed.length };
  })()`);
  expect(ended.isSame).toBe(true);
  expect(ended.shortest).toBeGreaterThan(0);
  expect(ended.length).toBeGreaterThan(2_000);
  expect(await page.locator('#stream table').count()).toBe(1);
  expect(gallery.remote).toEqual([]);
  expect(errors).toEqual([]);
});

it('tasks are walked, opened, closed and canceled by keyboard', async () => {
  const { page } = gallery;
  await gallery.open('only=Tasks');
  await page.locator('body').press('Tab');
  expect(await focused()).toBe('a');
  for (const [key, task] of [
    ['ArrowDown', 'b'],
    ['ArrowDown', 'c'],
    ['ArrowRight', 'd'],
    ['ArrowLeft', 'c'],
    ['End', 'f'],
    ['Home', 'a'],
  ] as const) {
    await page.keyboard.press(key);
    expect([key, await focused()]).toEqual([key, task]);
  }
  const items = page.getByRole('treeitem');
  expect(await items.count()).toBe(6);
  await page.keyboard.press('ArrowLeft');
  expect(await items.count()).toBe(3);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  expect(await focused()).toBe('e');
  await page.keyboard.press('Delete');
  await page.getByRole('treeitem').filter({ hasText: 'critic' }).getByText('Canceled').waitFor();
});

it('Enter sends, Shift+Enter does not; what is refused comes back', async () => {
  const { page } = gallery;
  await gallery.open('only=Composers');
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await field.focus();
  const low = (await field.boundingBox())!.height;
  await page.keyboard.press('Enter');
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  expect((await field.boundingBox())!.height).toBeGreaterThan(low);
  await page.keyboard.press('Enter');
  expect(await shown('#sent')).toEqual([{ text: 'one\ntwo' }]);
  expect(await field.inputValue()).toBe('');

  await page.getByRole('textbox', { name: 'To a busy one' }).press('Enter');
  await page.getByRole('radio', { name: 'Steer' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('textbox', { name: 'To a busy one' }).fill('later');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect((await shown('#sent')).slice(1)).toEqual([{ text: 'Rather in blue', policy: 'steer' }, 'stop']);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect((await shown('#sent')).at(-1)).toEqual({ text: 'later', policy: 'queue' });

  const refused = page.getByRole('textbox', { name: 'Refused' });
  await refused.press('Enter');
  await page.getByText('The server refused it.').waitFor();
  expect(await refused.inputValue()).toBe('Try me');
  expect(await page.getByRole('textbox', { name: 'Disabled' }).isDisabled()).toBe(true);
});

it('a person approves, edits and rejects by keyboard', async () => {
  const { page } = gallery;
  await gallery.open('only=Approvals');
  const card = page.locator('#approval');
  const decided = (part: string) => says('decided', part);
  await card.getByRole('button', { name: 'Approve' }).press('Enter');
  await decided('approve');
  expect(await shown('#decided')).toEqual({ decision: 'approve', argumentsHash: 'abc' });

  await card.getByRole('button', { name: 'Reject…' }).press('Enter');
  await page.keyboard.type('Too much');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await decided('reject');
  expect(await shown('#decided')).toEqual({ decision: 'reject', reason: 'Too much' });

  await card.getByRole('button', { name: 'Edit arguments' }).press('Enter');
  const field = card.getByRole('textbox', { name: 'Arguments' });
  await field.fill('{ "amount": ');
  expect(await card.getByRole('button', { name: 'Approve with these' }).isDisabled()).toBe(true);
  await field.fill('{ "amount": 5 }');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await decided('amount');
  expect(await shown('#decided')).toEqual({
    decision: 'approve',
    argumentsHash: 'abc',
    arguments: { amount: 5 },
  });

  await page.locator('#refused').getByRole('button', { name: 'Approve' }).press('Enter');
  await page.getByText('Somebody else approved it a moment ago.').waitFor();
  expect(await page.locator('#refused').getByRole('button', { name: 'Approve' }).count()).toBe(1);
});

it('a form is made of a schema, and a component of the app answers its own tool', async () => {
  const { page } = gallery;
  await gallery.open('only=Tools');
  const form = page.locator('form');
  await form.getByRole('button', { name: 'Answer' }).click();
  expect(await form.getByText('Needs a value').count()).toBe(3);
  await form.getByRole('radio', { name: 'green' }).check();
  await form.getByLabel('How many').fill('12');
  await form.getByLabel('Note').fill('Soon');
  await form.getByRole('checkbox', { name: 'olives' }).check();
  await form.getByLabel('Anything else').fill('{"deep": [1]}');
  await form.getByText('At most 9').waitFor();
  await form.getByLabel('How many').fill('3');
  await form.getByRole('button', { name: 'Answer' }).click();
  await says('answered', 'green');
  expect(await shown('#answered')).toEqual({
    ...{ colour: 'green', count: 3, size: 'M', toppings: ['olives'], note: 'Soon', isGift: false },
    ...{ more: { deep: [1] }, address: {} },
  });
  await page.getByRole('button', { name: 'red' }).click();
  await says('answered', 'red');
  expect(await shown('#answered')).toEqual({ colour: 'red' });
});

it('two thousand spans cost what a screen of them does', async () => {
  const { page } = gallery;
  await gallery.open('only=Timelines');
  const many = page.locator('#many');
  const list = many.getByRole('listbox');
  await list.focus();
  expect(await many.getByRole('option').count()).toBeLessThan(60);
  await page.keyboard.press('End');
  await many.getByRole('option', { name: 'tool 1999' }).waitFor();
  expect(await many.getByRole('option').count()).toBeLessThan(60);
  const width = async () =>
    Number(
      (await many.getByRole('option', { name: 'tool 1999' }).locator('.troupe-bar').boundingBox())?.width,
    );
  const before = await width();
  for (let press = 0; press < 6; press++) await page.keyboard.press('+');
  expect(await width()).toBeGreaterThan(before * 4);
  await page.keyboard.press('0');
  expect(await width()).toBe(before);
});

it('an agent of a graph is selected and removed by keyboard, and boxes do not lie on each other', async () => {
  const { page } = gallery;
  await gallery.open('only=Graphs');
  const nodes = page.locator('#graph-edit .react-flow__node');
  await boxesAre(5);
  const boxes = await nodes.evaluateAll((all) =>
    all.map((one) => one.getBoundingClientRect().toJSON() as Box),
  );
  const overlap = boxes.flatMap((one, at) =>
    boxes
      .slice(at + 1)
      .filter(
        (other) =>
          one.left < other.right &&
          other.left < one.right &&
          one.top < other.bottom &&
          other.top < one.bottom,
      ),
  );
  expect(overlap).toEqual([]);
  await page.locator('#graph-edit [data-id="checker"]').focus();
  await page.keyboard.press('Enter');
  await says('graph-log', 'checker');
  await page.keyboard.press('Delete');
  await boxesAre(4);
});

it('the styles of xyflow are those of the version that is installed', async () => {
  const bare = (text: string) =>
    text
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/["']/g, '"')
      .replace(/\s+/g, '')
      .replace(/;}/g, '}')
      .replace(/\b0\./g, '.')
      .toLowerCase();
  const ours = await readFile(fileURLToPath(new URL('../src/style/xyflow.css', import.meta.url)), 'utf8');
  const theirs = await readFile(resolve('@xyflow/react/dist/base.css'), 'utf8');
  expect(bare(ours)).toBe(bare(theirs));
});
