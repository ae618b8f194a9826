import { Troupe } from '@troupe/sdk';
import { BehaviorSubject, combineLatest, of, switchMap } from 'rxjs';
import { openDatabase } from './database.ts';
import { element, showChats, showMessages, showTasks } from './view.ts';

// Everything that is shown is read from the database in this browser, and everything that is done is written there. Whether there is
// a network matters to nobody but the replication.

const troupe = new Troupe({ baseUrl: location.origin });
const database = await openDatabase(troupe, ({ message }) => {
  element('refused').textContent = `Not sent: ${message}`;
});
const chat$ = new BehaviorSubject<string | null>(location.hash.slice(1) || null);

const sessions$ = database.sessions.find({ sort: [{ createdAt: 'desc' }] }).$;
// What a chat without a title is called.
const first$ = database.messages.find({ selector: { role: 'user', sequence: 1 } }).$;
combineLatest([sessions$, first$, chat$]).subscribe(([sessions, first, chat]) =>
  showChats(plain(sessions), plain(first), chat, (id) => chat$.next(id)),
);
combineLatest([sessions$, chat$]).subscribe(([sessions, chat]) => {
  if (chat) location.hash = chat;
  const session = sessions.find(({ id }) => id === chat);
  const agent = session && knownAgents().find(({ id }) => id === session.agentId);
  const text = element<HTMLInputElement>('text');
  text.disabled = chat === null;
  text.placeholder = chat
    ? `Say something${agent ? ` to ${agent.name}` : ''}`
    : 'Choose a chat, or begin one';
});
chat$
  .pipe(switchMap((chatId) => (chatId ? database.messages.find({ selector: { chatId } }).$ : of(null))))
  .subscribe((messages) => showMessages(messages && plain(messages)));
chat$
  .pipe(
    switchMap((chatId) =>
      chatId
        ? combineLatest([
            database.tasks.find({ selector: { chatId }, sort: [{ createdAt: 'asc' }] }).$,
            database.sub_agent_messages.find({ selector: { chatId }, sort: [{ sequence: 'asc' }] }).$,
          ])
        : of([[], []] as const),
    ),
  )
  .subscribe(([tasks, steps]) => showTasks(plain(tasks), plain(steps)));

element('begin').onsubmit = async (event) => {
  event.preventDefault();
  const now = Date.now();
  const agentId = element<HTMLSelectElement>('agent').value;
  const session = { id: crypto.randomUUID(), userId: '', agentId, createdAt: now, updatedAt: now };
  await database.sessions.insert(session);
  chat$.next(session.id);
};

element('say').onsubmit = async (event) => {
  event.preventDefault();
  const text = element<HTMLInputElement>('text');
  const chatId = chat$.value;
  if (!chatId || text.value.trim() === '') return;
  const said = { id: crypto.randomUUID(), userId: '', chatId, role: 'user' as const, content: text.value };
  text.value = '';
  element('refused').textContent = '';
  await database.messages.insert({ ...said, createdAt: Date.now() });
  const session = await database.sessions.findOne(chatId).exec();
  if (session && !session.title) await session.incrementalPatch({ title: said.content.slice(0, 60) });
};

const showState = () => {
  element('state').textContent = navigator.onLine ? 'Online' : 'Offline: sent later';
};
addEventListener('online', showState);
addEventListener('offline', showState);
showState();

/** Whom there is to talk to; what was known last, where there is no network. */
async function showAgents(): Promise<void> {
  const agents = await troupe.agents.list().then(
    ({ data }) => data.map(({ id, name }) => ({ id, name })),
    () => knownAgents(),
  );
  localStorage.setItem('agents', JSON.stringify(agents));
  element('agent').replaceChildren(...agents.map(({ id, name }) => new Option(name, id)));
}
await showAgents();

function knownAgents(): { id: string; name: string }[] {
  return JSON.parse(localStorage.getItem('agents') ?? '[]');
}

if ('serviceWorker' in navigator) await navigator.serviceWorker.register('/offline.js');

function plain<Document>(documents: readonly { toJSON(): unknown }[]): Document[] {
  return documents.map((document) => document.toJSON() as Document);
}
