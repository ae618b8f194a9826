import type { Event, SpaceMessage } from '@troupe/protocol';
import type { SpaceState, StreamItem } from '@troupe/sdk';
import { plain } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { taskNote } from './tasks.ts';

/**
 * Shows a space in a terminal: what is said on `out`, with names, and what else happens on `err`. A line can be written by one
 * only: while the text of one agent grows there, what others say waits until it is done.
 */
export class Watching {
  readonly #terminal: Terminal;
  readonly #self: string | null;
  /** What was typed here stands on the screen already. */
  readonly #typed = new Set<string>();
  /** The last message that is shown whole. */
  #shown = 0;
  /** The live text that has the line, and how much of it is there. */
  #line: { id: string; text: string } | null = null;
  /** What is told once the line is free. */
  #notes: string[] = [];
  /** Who said something since they are at work. */
  readonly #spoke = new Set<string>();
  /** Calls of visible tools, as they were shown. */
  readonly #tools = new Map<string, string>();

  /** `self`: who types here. */
  constructor(terminal: Terminal, self: string | null) {
    this.#terminal = terminal;
    this.#self = self;
  }

  typed(messageId: string): void {
    this.#typed.add(messageId);
  }

  show(state: SpaceState): void {
    const { messages, live } = state;
    const line = this.#line;
    if (line) {
      const growing = live.find(({ id }) => id === line.id);
      const stored = messages.find(({ id }) => id === line.id);
      if (growing) this.#grow(growing.text);
      else this.#endLine(stored);
      if (growing) return;
    }
    for (const message of messages) {
      if (message.sequence > this.#shown && message.id !== line?.id) this.#say(message);
      else if (message.tool) this.#tool(message);
      this.#shown = Math.max(this.#shown, message.sequence);
    }
    this.#tellNotes();
    const next = live[0];
    if (!next) return;
    this.#line = { id: next.id, text: '' };
    this.#terminal.out(`${plain(nameOf(state, next.entityId))}: `);
    this.#grow(next.text);
  }

  hear(item: StreamItem, state: SpaceState): void {
    const note =
      item.kind === 'event' ? (this.#workOf(item.event, state) ?? noteOf(item.event, state)) : null;
    const isTyping = item.kind === 'typing' && item.typing.typing && item.typing.entityId !== this.#self;
    if (note) this.#notes.push(note);
    else if (isTyping && this.#terminal.isWatched)
      this.#notes.push(`${item.typing.name ?? 'somebody'} is typing`);
    if (this.#line === null) this.#tellNotes();
  }

  /** An agent is told of once for all the runs that it has at a time. */
  #workOf({ type, data }: Event, { activeAgents }: SpaceState): string | null {
    const entityId = String(data.entityId);
    const runs = activeAgents.find((agent) => agent.entityId === entityId)?.runIds.length ?? 0;
    if (type === 'agent.active' && runs === 1) {
      this.#spoke.delete(entityId);
      return `${data.agentName} is at work`;
    }
    const isSilent = type === 'run.completed' && data.silent === true && runs === 0;
    return isSilent && !this.#spoke.has(entityId) ? `${data.agentName} has nothing to say` : null;
  }

  /** Nothing more comes. */
  stop(): void {
    if (this.#line) this.#terminal.out('\n');
    this.#line = null;
    this.#tellNotes();
  }

  #grow(text: string): void {
    const line = this.#line!;
    // Another try begins anew.
    if (!text.startsWith(line.text)) {
      this.#terminal.out('\n');
      line.text = '';
    }
    this.#terminal.out(plain(text.slice(line.text.length)));
    line.text = text;
  }

  /** It became a message, or nothing. */
  #endLine(stored: SpaceMessage | undefined): void {
    if (stored) this.#grow(stored.content.text);
    if (stored) this.#spoke.add(String(stored.senderId));
    this.#terminal.out(stored ? '\n' : ' […]\n');
    this.#line = null;
  }

  #say(message: SpaceMessage): void {
    this.#spoke.add(String(message.senderId));
    if (message.tool) this.#tool(message);
    else if (!this.#terminal.isWatched || !this.#typed.has(message.id))
      this.#terminal.out(plain(`${message.senderName ?? 'unknown'}: ${message.content.text}\n`));
  }

  #tool({ id, senderName, content }: SpaceMessage): void {
    if (this.#tools.get(id) === content.text) return;
    this.#tools.set(id, content.text);
    this.#terminal.err(plain(`  [${senderName ?? 'unknown'}: ${content.text}]\n`));
  }

  #tellNotes(): void {
    for (const note of this.#notes.splice(0)) this.#terminal.err(plain(`  (${note})\n`));
  }
}

function nameOf({ members, activeAgents }: SpaceState, entityId: unknown): string {
  return (
    members.find((member) => member.entityId === entityId)?.name ??
    activeAgents.find((agent) => agent.entityId === entityId)?.agentName ??
    'unknown'
  );
}

/** What a reader wants to know of an event beside what is said. */
function noteOf(event: Event, state: SpaceState): string | null {
  const { type, data } = event;
  const who = (data.agentName as string | undefined) ?? nameOf(state, data.entityId);
  switch (type) {
    case 'message.failed':
      return `${who} could not say it: ${data.message ?? data.code}`;
    case 'run.failed':
      return `${who} failed: ${data.message ?? data.code}`;
    case 'run.canceled':
      return `${who} was stopped`;
    case 'run.waiting_tool':
      return `${who} waits for an answer: troupe inbox`;
    case 'run.waiting_reply':
      return `${who} waits for a reply`;
    case 'run.refused': {
      const names = (data.entityIds as string[]).map((id) => nameOf(state, id)).join(', ');
      const why =
        data.reason === 'chain_depth'
          ? `${data.limit} agents have started one another in a row`
          : `agents have started ${data.limit} runs`;
      return `not started: ${names}. Since a person spoke, ${why}`;
    }
    case 'task.created':
    case 'task.updated':
      return taskNote(event);
    case 'task.waiting':
      return data.waitsFor === 'client' ? null : 'a sub-agent waits for a decision: troupe inbox';
    case 'space.member.joined':
      return `${data.name ?? 'somebody'} joined`;
    case 'space.member.left':
      return `${data.name ?? 'somebody'} left`;
    default:
      return null;
  }
}
