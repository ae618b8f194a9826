import type { JsonObject } from '@troupe/protocol';
import type { ModelTool } from '../../kernel/ports.ts';
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
  const next = agents.find((key) => !told.includes(`. ${key} handed over`)) ?? agents[0];
  return next === undefined ? undefined : () => ({ name: 'route_to_agent', arguments: { agent: next } });
}

function propertyOf(tool: ModelTool | undefined, name: string): JsonObject | undefined {
  return tool && properties(tool.inputSchema).get(name);
}

function firstString(schema: JsonObject): string | undefined {
  return [...properties(schema)].find(([, property]) => property.type === 'string')?.[0];
}
