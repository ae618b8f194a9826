import type { JsonObject } from '@troupe/protocol';
import type { PlannedCall } from './reply.ts';
import { properties, propertyNamed } from './schema.ts';
import type { Situation } from './situation.ts';

/** Where one of these is among the tools, text reaches nobody (a space) or ends nothing (a task): speak by it. */
export const VOICES: ReadonlyMap<string, readonly string[]> = new Map([
  ['send_message', ['text']],
  ['final_answer', ['answer', 'result', 'text', 'content', 'output', 'summary', 'message']],
]);

/** Undefined where plain text is heard, or no tool may be used. */
export function spokenBy({ tools }: Pick<Situation, 'tools'>): ((text: string) => PlannedCall) | undefined {
  for (const [name, parameters] of VOICES) {
    const tool = tools.get(name);
    if (!tool) continue;
    const parameter =
      propertyNamed(tool.inputSchema, parameters) ?? firstString(tool.inputSchema) ?? parameters[0]!;
    return (text) => ({ name, arguments: { [parameter]: text } });
  }
  return undefined;
}

function firstString(schema: JsonObject): string | undefined {
  return [...properties(schema)].find(([, property]) => property.type === 'string')?.[0];
}
