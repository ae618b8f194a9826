import type { JsonObject } from '@troupe/protocol';
import type { ModelTool } from '../../kernel/ports.ts';
import { clip } from './clip.ts';
import type { PlannedCall } from './reply.ts';
import { sampleOf } from './sample.ts';
import { properties, propertyNamed } from './schema.ts';
import type { Situation } from './situation.ts';

/** Where one of these is among the tools, text reaches nobody (a space) or ends nothing (a task): speak by it. */
export const VOICES: ReadonlyMap<string, readonly string[]> = new Map([
  ['send_message', ['text']],
  ['final_answer', ['answer', 'result', 'text', 'content', 'output', 'summary', 'message']],
]);

type Speak = (text: string) => PlannedCall;

/** Undefined where plain text is heard, or no tool may be used. */
export function spokenBy({ tools, request }: Pick<Situation, 'tools' | 'request'>): Speak | undefined {
  for (const [name, parameters] of VOICES) {
    const tool = tools.get(name);
    if (!tool) continue;
    const parameter =
      propertyNamed(tool.inputSchema, parameters) ?? firstString(tool.inputSchema) ?? parameters[0]!;
    return (text) => ({ name, arguments: { [parameter]: text } });
  }
  return inNetwork({ tools, request });
}

/** In a network an answer is a call; who may not answer hands over, to somebody who did not have it yet where there is one. */
function inNetwork({ tools, request }: Pick<Situation, 'tools' | 'request'>): Speak | undefined {
  const payload = propertyOf(tools.get('respond'), 'payload');
  if (payload) {
    const isFree = Object.keys(payload).length === 0;
    return (text) => ({
      name: 'respond',
      arguments: { payload: isFree ? { message: text } : sampleOf(payload, text) },
    });
  }
  const to = propertyOf(tools.get('route_to_agent'), 'agent')?.enum;
  const agents = Array.isArray(to) ? to.filter((key): key is string => typeof key === 'string') : [];
  const asked = request.messages.find(({ role }) => role === 'user');
  const told = asked?.role === 'user' ? asked.text : '';
  const fresh = agents.filter((key) => !told.includes(`. ${key} handed over`));
  const next = fresh.find((key) => suits(key, told)) ?? fresh[0] ?? agents[0];
  return next === undefined ? undefined : () => ({ name: 'route_to_agent', arguments: { agent: next } });
}

/** What an agent is called, and what one asks such an agent. */
const TOPICS = [
  { called: /sum|math|calc|number/i, asks: /\d\s{0,3}[-+*/x^]\s{0,3}\d|\bhow much\b/i },
  { called: /clock|time|date|calendar/i, asks: /\b(?:time|date|day|clock)\b/i },
];

/** By its key alone: what a router would guess from it. */
function suits(key: string, asked: string): boolean {
  const text = clip(asked, 2_000);
  if (
    text
      .toLowerCase()
      .split(/[^\p{L}\p{N}_-]+/u)
      .includes(key.toLowerCase())
  )
    return true;
  return TOPICS.some(({ called, asks }) => called.test(key) && asks.test(text));
}

function propertyOf(tool: ModelTool | undefined, name: string): JsonObject | undefined {
  return tool && properties(tool.inputSchema).get(name);
}

function firstString(schema: JsonObject): string | undefined {
  return [...properties(schema)].find(([, property]) => property.type === 'string')?.[0];
}
