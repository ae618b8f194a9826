import { readFileSync } from 'node:fs';
import { Troupe } from '@troupe/sdk';
import { openBrowser } from './browser.ts';
const ids = JSON.parse(readFileSync('/tmp/talk-ids.json', 'utf8'));
const t = new Troupe({ baseUrl: 'http://localhost:4811' });
const base = 'http://localhost:4811';
const only = process.argv[2] ?? '';
const sessions = (await t.sessions.listAll({ query: { agentId: ids.helper, limit: 50 } })).data;
const deleg = sessions.find((s) => s.title?.startsWith('Delegate')) ?? sessions[0]!;
const time = sessions.find((s) => s.title?.startsWith('What time')) ?? sessions[0]!;
const waiting = sessions.find((s) => s.status === 'waiting') ?? sessions[0]!;
const task = (await t.tasks.list({ query: {} })).data[0];
const q = (await t.tasks.list({ query: {status:'waiting'} })).data[0];
const pages: Record<string, string> = {
  sessions: '/sessions', 'sessions-new': '/sessions?new=any', session: `/sessions/${ids.helper}/${deleg.id}`, 'session-files': `/sessions/${ids.helper}/${deleg.id}?panel=files`, 'session-file': `/sessions/${ids.helper}/${deleg.id}?panel=files&file=/notes/today.md`,
  'session-events': `/sessions/${ids.helper}/${time.id}?panel=events`, 'session-runs': `/sessions/${ids.helper}/${time.id}?panel=runs`, 'session-tool': `/sessions/${ids.helper}/${waiting.id}?panel=todos`,
  spaces: '/spaces', 'spaces-new': '/spaces?new=space', space: `/spaces/${ids.space}`, 'space-search': `/spaces/${ids.space}?panel=search&search=2`, 'space-settings': `/spaces/${ids.space}?panel=settings`, 'space-runs': `/spaces/${ids.space}?panel=runs`,
  tasks: '/tasks', task: `/tasks/${task?.id}`, taskq: `/tasks/${q?.id}`, inbox: '/inbox', 'inbox-tool': '/inbox?kind=tool', 'inbox-question': '/inbox?kind=question', 'inbox-delivery': '/inbox?kind=delivery', 'inbox-none': '/inbox?kind=doubt', 'inbox-item': `/inbox?kind=approval`,
};
const browser = await openBrowser();
for (const [scheme, width, height] of [['light', 1440, 900], ['dark', 1440, 900], ['light', 390, 844]] as const) {
  if (process.argv[3] && !`${scheme}${width}`.includes(process.argv[3])) continue;
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  await context.addInitScript((entityId) => localStorage.setItem('troupe.settings', JSON.stringify({ entityId, tourDone: true })), ids.ada);
  const page = await context.newPage();
  page.on('pageerror', (e) => console.log('ERR', page.url(), String(e.stack).slice(0, 600)));
  page.on('response', (r) => r.status() >= 400 && !r.url().includes('changes') && console.log('RES', r.status(), r.url()));
  page.on('consolex' as any, (m) => m.type() === 'error' && console.log('CON', page.url(), m.text().slice(0, 300)));
  for (const [name, path] of Object.entries(pages)) {
    if (only && !only.split(',').some((o) => name === o || (o.endsWith('*') && name.startsWith(o.slice(0, -1))))) continue;
    await page.goto(base + path);
    await page.waitForTimeout(3000);
    await page.screenshot({ path: `/tmp/shots/${name}-${scheme}-${width}.png` });
  }
}
await browser.close();
