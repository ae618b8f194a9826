import type { Json } from '@troupe/protocol';
import type { Reply } from './reply.ts';
import { isObject, placeholder, properties, propertyNamed, required } from './schema.ts';
import type { Situation } from './situation.ts';

export const CLOCKS = ['current_time', 'get_current_time'];
const ASKED =
  /\b(?:what(?:'s| is) the (?:current )?(?:time|date)|what time|time is it|(?:current|exact) time|(?:tell|give) me the (?:current )?(?:time|date)|what(?:'s| is) (?:today's date|the day)|what (?:day|date) is)\b/i;
const ZONE = /\b[A-Z][A-Za-z]{1,30}\/[A-Z][A-Za-z_]{1,40}\b/;
const TIME_KEYS = [
  'human',
  'formatted',
  'time',
  'currentTime',
  'current_time',
  'now',
  'iso',
  'iso8601',
  'datetime',
];

export function clock({ heard, tools, request }: Situation): Reply | undefined {
  if (!heard || !ASKED.test(heard.plain)) return undefined;
  const tool = CLOCKS.map((name) => tools.get(name)).find((found) => found !== undefined);
  if (!tool) {
    const has = request.tools.some((candidate) => CLOCKS.includes(candidate.name));
    return has
      ? { say: 'I may not use tools in this step, so I cannot look at the clock.' }
      : {
          say: 'I have no clock: give this agent the `current_time` capability and I can tell you the time.',
        };
  }
  const known = properties(tool.inputSchema);
  const zone = propertyNamed(tool.inputSchema, ['timezone', 'timeZone', 'time_zone', 'zone', 'tz']);
  const named = ZONE.exec(heard.plain)?.[0];
  const given: [string, Json][] = zone && named ? [[zone, named]] : [];
  for (const name of required(tool.inputSchema)) {
    if (given.some(([taken]) => taken === name)) continue;
    given.push([name, placeholder(known.get(name) ?? {}, name === zone ? 'UTC' : '')]);
  }
  return { call: [{ name: tool.name, arguments: Object.fromEntries(given) }] };
}

/** The time in what a clock gave, or undefined where it cannot be found. */
export function timeIn(output: Json): string | undefined {
  if (typeof output === 'string' || typeof output === 'number') return String(output);
  if (!isObject(output)) return undefined;
  const key = TIME_KEYS.find((candidate) => Object.hasOwn(output, candidate));
  const time = key === undefined ? undefined : output[key];
  if (typeof time !== 'string' && typeof time !== 'number') return undefined;
  const zone = output.timezone ?? output.timeZone;
  return typeof zone === 'string' && !String(time).includes(zone) ? `${time} (${zone})` : String(time);
}
