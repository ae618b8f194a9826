import type { ModelRequest } from '../../kernel/ports.ts';
import type { Reply } from './reply.ts';
import { isObject } from './schema.ts';
import type { Situation } from './situation.ts';

// The part of an agent that gives tasks. What it is told of them stands in its prompt, as a line of JSON for each, and in
// messages about those that it does not wait for.

export interface TaskLine {
  subAgentId: string;
  /** `agent:researcher` without its beginning. */
  who: string;
  waits: boolean;
}

export interface News {
  text: string;
  /** Where to tell it; undefined in a session, where it is a message. */
  spaceId: string | undefined;
}

const NEWS =
  /^Task \S{1,60} \((?:agent:)?([^\n]{1,200}?)(?:, sub-agent \S{1,60})?\) (waits for an answer|is done|failed|was canceled)[.:]?([\s\S]*)$/;
/** What a run of a space is told to have begun by; the payload is JSON on one line. */
const TRIGGER = /^TRIGGER:\n- type: service\n- service: "task"\n- payload: (\{[^\n]*\})$/m;

/** What a session's run is told last; in a space, what the run began by. */
export function newsIn({ messages, system }: ModelRequest): News | undefined {
  const last = messages.at(-1);
  if (last?.role === 'user' && NEWS.test(last.text)) return { text: last.text, spaceId: undefined };
  const { text, spaceId } = parsed(TRIGGER.exec(system)?.[1] ?? '{}');
  return typeof text === 'string' && typeof spaceId === 'string' ? { text, spaceId } : undefined;
}

/** Something has become of a task that it no longer waits for: say so, in a space after going there. */
export function taskNews({ news, ended, answered, tools }: Situation): Reply | undefined {
  if (!news) return undefined;
  const { text, spaceId } = news;
  if (spaceId === undefined) return told(text);
  if (answered) return undefined;
  if (!ended) return { call: [{ name: 'enter_space', arguments: { spaceId } }] };
  const isThere = ended.results.every(({ name, isError }) => name === 'enter_space' && !isError);
  return isThere && tools.has('send_message') ? told(text) : undefined;
}

function told(news: string): Reply | undefined {
  const found = NEWS.exec(news);
  if (!found) return undefined;
  const [, who, what, rest] = found as unknown as [string, string, string, string];
  // "Its result:" and "The sub-agent asks:" stand on a line of their own.
  const text = rest.replace(/^[^\n]*\n\n/, '').trim();
  if (what === 'waits for an answer') return { say: asks(who, text) };
  if (what === 'is done') return { say: `${who} is done: ${text}` };
  return { say: what === 'failed' ? `${who} failed: ${text}` : `${who} was canceled.` };
}

export function asks(who: string, question: string): string {
  return `${who} asks: ${question} (Answer here, and I pass it on.)`;
}

/** Whoever speaks while a sub-agent waits for an answer gives it; where several wait, to the one that began last. */
export function taskAnswer({ heard, tools, request }: Situation): Reply | undefined {
  if (!heard || !tools.has('reply_to_agent')) return undefined;
  const waiting = tasksIn(request.system).findLast(({ waits }) => waits);
  if (!waiting) return undefined;
  const given = { subAgentId: waiting.subAgentId, content: heard.text };
  return { call: [{ name: 'reply_to_agent', arguments: given }] };
}

export function tasksIn(system: string): TaskLine[] {
  const from = `\n${system}`.lastIndexOf('\nTASKS: ');
  const lines = from < 0 ? [] : system.slice(from).split('\n');
  const found: TaskLine[] = [];
  for (const line of lines.slice(1)) {
    if (!line.startsWith('- {')) break;
    const { subAgentId, name, status } = parsed(line.slice(2));
    if (typeof subAgentId !== 'string' || typeof name !== 'string') continue;
    found.push({ subAgentId, who: name.replace(/^agent:/, ''), waits: status === 'waiting' });
  }
  return found;
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value = JSON.parse(line);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
