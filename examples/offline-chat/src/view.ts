import type { Collection, SyncDocument } from '@troupe/protocol';

type Of<Name extends Collection> = SyncDocument<Name>;

export const element = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;

/** What people and models wrote is put in as text, never as HTML. */
function made<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text = '',
  attributes: Record<string, string> = {},
) {
  const node = Object.assign(document.createElement(tag), { textContent: text });
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export function showChats(
  sessions: Of<'sessions'>[],
  first: Of<'messages'>[],
  current: string | null,
  choose: (id: string) => void,
): void {
  const began = new Map(first.map(({ chatId, content }) => [chatId, content]));
  const items = sessions.map(({ id, title }) => {
    const button = made('button', title ?? began.get(id) ?? 'New chat', {
      'aria-current': String(id === current),
    });
    button.onclick = () => choose(id);
    const item = made('li');
    item.append(button);
    return item;
  });
  element('chats').replaceChildren(
    ...(items.length > 0 ? items : [made('li', 'No chats yet.', { class: 'empty' })]),
  );
}

/** Null: no chat is chosen. */
export function showMessages(messages: Of<'messages'>[] | null): void {
  const said = (messages ?? []).filter(
    ({ role, content }) => (role === 'user' || role === 'assistant') && content !== '',
  );
  // The server numbers messages: one without a number has not been there yet. It comes last.
  const inOrder = said.toSorted(
    (one, two) => (one.sequence ?? Infinity) - (two.sequence ?? Infinity) || one.createdAt - two.createdAt,
  );
  const items = inOrder.map(({ role, content, sequence }) =>
    made('li', content, { 'data-role': role, ...(sequence === undefined ? { 'data-pending': '' } : {}) }),
  );
  const list = element('messages');
  const none = messages ? 'Nothing said yet.' : 'Choose a chat, or begin one.';
  list.replaceChildren(...(items.length > 0 ? items : [made('li', none, { class: 'empty' })]));
  list.scrollTop = list.scrollHeight;
}

const STATUS: Record<Of<'tasks'>['status'], string> = {
  pending: 'begins',
  running: 'at work',
  waiting: 'asks',
  success: 'done',
  failed: 'failed',
  canceled: 'canceled',
};

/** Each task with the steps of its sub-agent. New ones are open until they have ended; whatever was opened or closed stays so. */
export function showTasks(tasks: Of<'tasks'>[], steps: Of<'sub_agent_messages'>[]): void {
  const shown = new Map([...document.querySelectorAll('details')].map(({ id, open }) => [id, open]));
  const items = tasks.map((task) => {
    const isOpen = shown.get(task.id) ?? ['pending', 'running', 'waiting'].includes(task.status);
    const item = made('details', '', { id: task.id, 'data-status': task.status });
    item.open = isOpen;
    item.append(
      made('summary', `${task.name.replace(/^\w+:/, '')}: ${STATUS[task.status]}`),
      made('p', task.instruction),
    );
    const list = made('ol');
    const own = steps.filter(({ subAgentId }) => subAgentId === task.subAgentId).slice(1);
    // The last thing that it says is the result, which stands below.
    const before = own.filter(({ role, content }) => role !== 'assistant' || content !== task.result);
    list.append(...before.flatMap(linesOf).map((line) => made('li', line)));
    item.append(list);
    const outcome = task.question ?? task.result ?? task.error;
    if (outcome)
      item.append(made('p', `${task.question ? 'It asks: ' : ''}${outcome}`, { class: 'outcome' }));
    return item;
  });
  const none = made('p', 'What the agent hands to others shows here.', { class: 'empty' });
  element('tasks').replaceChildren(...(items.length > 0 ? items : [none]));
}

function linesOf({ role, name, content, toolCalls = [] }: Of<'sub_agent_messages'>): string[] {
  const calls = toolCalls.map(({ function: called }) => `→ ${called.name} ${called.arguments}`);
  return [...(content === '' ? [] : [`${role === 'tool' ? `← ${name}` : role}: ${content}`]), ...calls];
}
