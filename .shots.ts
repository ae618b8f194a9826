import { Troupe } from '@troupe/sdk';
import { openBrowser } from './tools/browser.ts';
const base = 'http://localhost:4837';
const troupe = new Troupe({ baseUrl: base });
const which = process.argv[2] ?? 'all';
const browser = await openBrowser();
async function open(path: string, o: any = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...o });
  const page = await context.newPage();
  page.on('pageerror', (e) => console.log('PAGEERROR', path, e.message.slice(0, 400)));
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') console.log('CONSOLE', m.text().slice(0, 300)); });
  await page.goto(base + path);
  return page;
}
const shot = async (page: any, name: string) => { await page.waitForTimeout(900); await page.screenshot({ path: `/tmp/nets-shots/${name}.png` }); };
const narrow = { viewport: { width: 390, height: 844 } };
const dark = { colorScheme: 'dark' as const };
async function ensure() {
  for (const [name, kind] of [['search', 'echo'], ['lookup', 'echo'], ['a_tool_with_quite_a_long_name_that_nobody_would_choose', 'echo']] as const)
    await troupe.tools.create({ body: { name, kind } }).catch(() => {});
  let big = await troupe.networks.get({ params: { network: 'big' } }).catch(() => null);
  if (!big) {
    big = await troupe.networks.create({ body: { name: 'big', description: 'Many agents with very long descriptions that do not fit on a single line of the table at all, whatever the width of the window', tools: [{ key: 'search', params: [{ name: 'tenant', source: 'system', required: true }] }, { key: 'lookup' }, {key: 'a_tool_with_quite_a_long_name_that_nobody_would_choose'}],
      agents: Array.from({ length: 14 }, (_, i) => ({ key: `agent-${i}`, displayName: i % 3 ? `Agent number ${i}` : null, description: 'Does something that takes a rather long sentence to describe.', isDefault: i === 0, allowRespond: i > 10, tools: i % 2 ? ['search', 'lookup', 'a_tool_with_quite_a_long_name_that_nobody_would_choose'] : [], routes: [i * 2 + 1, i * 2 + 2, ...(i>4?[0]:[])].filter((n) => n < 14 && n !== i).map((n) => `agent-${n}`) })) } });
    await troupe.networks.create({ body: { name: 'A network with a very long name that goes on and on until nobody can read it any more in one line of a table or a heading' } });
  }
  return big;
}
if (which === 'all' || which === 'empty') { const p = await open('/networks'); await shot(p, 'list-empty'); const q = await open('/networks?create=yes', dark); await shot(q, 'create-dark'); }
if (which === 'all' || which === 'graph') {
  const big = await ensure();
  let desk = await troupe.networks.get({ params: { network: 'Help desk' } }).catch(() => null);
  if (!desk) {
    const p = await open('/networks?create=yes');
    await p.getByText('From an example').click();
    await p.getByLabel('Name').fill('Help desk');
    await p.getByRole('button', { name: 'Create' }).click();
    await p.waitForURL(/networks\/[0-9a-f-]+/);
    desk = await troupe.networks.get({ params: { network: 'Help desk' } });
  }
  const p = await open(`/networks/${desk.id}`); await shot(p, 'graph');
  await p.locator('.react-flow__node').filter({ hasText: 'Researcher' }).click(); await shot(p, 'graph-selected');
  const d = await open(`/networks/${big.id}`, dark); await shot(d, 'graph-big-dark');
  const n = await open(`/networks/${desk.id}?agent=writer`, narrow); await shot(n, 'graph-narrow');
  const n2 = await open(`/networks/${desk.id}?view=graph`, narrow); await shot(n2, 'graph-narrow2');
  const t = await open(`/networks/${desk.id}?view=text`); await shot(t, 'text');
  const l = await open(`/networks/${desk.id}?view=list&agent=front`, dark); await shot(l, 'listview-dark');
  const s = await open(`/networks/${desk.id}?tab=settings`); await shot(s, 'settings');
}
if (which === 'all' || which === 'run') {
  const desk = await troupe.networks.get({ params: { network: 'Help desk' } });
  const p = await open(`/networks/${desk.id}`);
  await p.getByRole('button', { name: 'Publish' }).click(); await shot(p, 'publish');
  await p.getByLabel('Note').fill('the first'); await p.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await p.getByRole('tab', { name: 'Playground' }).click();
  await p.getByLabel('Input', { exact: true }).fill('call lookup {"query": "prices"}');
  await p.getByRole('button', { name: 'Run', exact: true }).click();
  await p.waitForTimeout(250); await p.screenshot({ path: '/tmp/nets-shots/run-mid.png' });
  await p.getByText('Answer of').waitFor(); await shot(p, 'run-end');
  await p.getByRole('button', { name: 'Ask the draft' }).click(); await p.getByRole('button', { name: 'Show the prompt' }).click(); await p.getByRole('button', { name: 'Ask for the verdict' }).click(); await shot(p, 'draft-ask');
  const v = await open(`/networks/${desk.id}?tab=versions`, dark); await shot(v, 'versions-dark');
  const b = await open(`/networks/${desk.id}?tab=batches&batch=new`); await b.getByLabel('Or paste it here').fill('input,metadata.topic\n"How much is 2+2?",sums\nWhat are you?,self\n"call lookup {""query"": ""x""}",tools\n'); await shot(b, 'batch-new');
  await b.getByRole('button', { name: 'Begin' }).click(); await b.getByText('All batches').waitFor(); await b.waitForTimeout(2500); await shot(b, 'batch');
  const r = await open(`/networks/${desk.id}?tab=runs`); await shot(r, 'runs');
  const n = await open(`/networks/${desk.id}?tab=playground`, narrow); await shot(n, 'playground-narrow');
  const nl = await open(`/networks`, { ...narrow }); await shot(nl, 'list-narrow');
  const wl = await open(`/networks`, dark); await shot(wl, 'list-dark');
}
await browser.close();
