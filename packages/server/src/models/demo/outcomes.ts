import type { Json } from '@troupe/protocol';
import { clip } from './clip.ts';
import { CLOCKS, timeIn } from './clock.ts';
import type { Reply } from './reply.ts';
import { isObject } from './schema.ts';
import type { Situation, ToolResult } from './situation.ts';
import { VOICES } from './voice.ts';

const MOST_RESULTS = 10;
const MOST_UNITS = 300;
/** Objects of a single field are looked into so far. */
const DEEPEST = 3;

/** Its calls have ended: say in one sentence what came of them. Having spoken by a tool, it is done. */
export function afterCalls({ ended }: Situation): Reply | undefined {
  if (!ended) return undefined;
  const spoken = ended.results.filter((result) => VOICES.has(result.name));
  const refused = spoken.find((result) => result.isError);
  if (refused) return { note: sentence([outcome(refused)]) };
  if (spoken.length > 0) return { note: '' };
  const shown = ended.results.slice(0, MOST_RESULTS).map(outcome);
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

function sentence(parts: string[]): string {
  const text = parts.join('; ');
  return /[.!?…]$/.test(text) ? text : `${text}.`;
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
