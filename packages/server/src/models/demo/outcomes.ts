import type { Json } from '@troupe/protocol';
import { clip } from './clip.ts';
import { CLOCKS, timeIn } from './clock.ts';
import type { Reply } from './reply.ts';
import { isObject } from './schema.ts';
import type { Situation, ToolResult } from './situation.ts';
import { asks, tasksIn } from './tasks.ts';
import { VOICES } from './voice.ts';

const MOST_RESULTS = 10;
const MOST_UNITS = 300;
/** Objects of a single field are looked into so far. */
const DEEPEST = 3;

/** Its calls have ended: say in one sentence what came of them. Having spoken by a tool, it is done. */
export function afterCalls({ ended, request }: Situation): Reply | undefined {
  if (!ended) return undefined;
  const spoken = ended.results.filter((result) => VOICES.has(result.name));
  const refused = spoken.find((result) => result.isError);
  if (refused) return { note: sentence([outcome(refused)]) };
  if (spoken.length > 0) return { note: '' };
  const argumentsOf = new Map(ended.calls.map((call) => [call.id, call.arguments]));
  const shown = ended.results
    .slice(0, MOST_RESULTS)
    .map((result) => ofTask(result, argumentsOf.get(result.callId), request.system) ?? outcome(result));
  const more = ended.results.length - shown.length;
  return { say: sentence(more > 0 ? [...shown, `${more} more calls ended`] : shown) };
}

function outcome(result: ToolResult): string {
  if (result.isError) return `\`${result.name}\` failed: ${shortened(errorText(result.output))}`;
  const time = CLOCKS.includes(result.name) ? timeIn(result.output) : undefined;
  if (time !== undefined) return `It is ${shortened(time)}`;
  const text = shortened(readable(result.output));
  return text === '' ? `\`${result.name}\` ended without a result` : `\`${result.name}\` answered: ${text}`;
}

const GIVES = new Set(['create_agent', 'reply_to_agent', 'reactivate_agent']);

/** What a sub-agent did or asked, and what it was answered. */
function ofTask(result: ToolResult, given: Json | undefined, system: string): string | undefined {
  const { output, name, isError } = result;
  if (isError || !isObject(output)) return undefined;
  const asked = isObject(given) ? given : {};
  if (name === 'ask_user' && typeof output.answer === 'string') {
    return `I asked "${shortened(readable(asked.question ?? ''))}" and was told: ${shortened(output.answer)}`;
  }
  if (!GIVES.has(name)) return undefined;
  const known = tasksIn(system).find(({ subAgentId }) => subAgentId === output.subAgentId);
  const who = typeof asked.type === 'string' ? asked.type : (known?.who ?? 'The sub-agent');
  if (typeof output.result === 'string') return `${who} answers: ${shortened(output.result)}`;
  if (typeof output.question === 'string') return asks(who, shortened(output.question));
  const isAtWork = output.status === 'pending' || output.status === 'running';
  return isAtWork ? `${who} is at work, and I tell you when there is news` : undefined;
}

/** Each ends as a sentence does; those that do not are one. */
function sentence(parts: string[]): string {
  const text = parts.reduce((before, part) => `${before}${/[.!?…]\)?$/.test(before) ? ' ' : '; '}${part}`);
  return /[.!?…]\)?$/.test(text) ? text : `${text}.`;
}

function errorText(output: Json, depth = 0): string {
  if (!isObject(output)) return readable(output) || 'no reason was given';
  const inner = output.error ?? output.message;
  if (isObject(inner) && depth < DEEPEST) return errorText(inner, depth + 1);
  return typeof inner === 'string' ? inner : readable(output);
}

/** Flat objects as `key: value`, the rest as JSON. */
function readable(output: Json, depth = 0): string {
  if (output === null) return '';
  if (typeof output === 'string') return output;
  if (!isObject(output)) return JSON.stringify(output);
  const entries = Object.entries(output);
  if (entries.length === 1 && depth < DEEPEST) return readable(entries[0]![1], depth + 1);
  const flat =
    entries.length > 0 && entries.every(([, value]) => typeof value !== 'object' || value === null);
  return flat ? entries.map(([key, value]) => `${key}: ${value}`).join(', ') : JSON.stringify(output);
}

function shortened(text: string): string {
  const line = clip(text, 4 * MOST_UNITS)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= MOST_UNITS ? line : `${clip(line, MOST_UNITS - 1)}…`;
}
