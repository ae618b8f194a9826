import {
  type Json,
  type JsonObject,
  type LogPolicy,
  logPolicy,
  type TextContent,
  type ToolCallContent,
  type ToolResultContent,
} from '@troupe/protocol';
import type { StoredMessage } from '../../store/index.ts';
import { refusedOf, routeOf } from './position.ts';

// What an agent is told of steps before it was handed the run: one line for each, and only the last ones.

const MOST_LINES = 10;
const LONGEST_TEXT = 200;

export function summaries(earlier: readonly StoredMessage[], policy: JsonObject): string[] {
  const read = logPolicy.safeParse(policy);
  const how = read.success ? read.data : logPolicy.parse({});
  const results = new Map(
    earlier.flatMap((message) =>
      message.role === 'tool_result' && message.callId !== null ? [[message.callId, message.content]] : [],
    ),
  ) as Map<string, ToolResultContent>;
  // Refusals are between the runtime and the agent that was refused.
  const refused = new Set(earlier.flatMap((message) => refusedOf(message)?.calls ?? []));
  const done = earlier.filter(
    (message) => !refusedOf(message) && !(message.callId !== null && refused.has(message.callId)),
  );
  const lines = done.flatMap((message) => lineOf(message, results, how));
  return lines.slice(-MOST_LINES);
}

function lineOf(
  message: StoredMessage,
  results: ReadonlyMap<string, ToolResultContent>,
  policy: LogPolicy,
): string[] {
  const at = message.step === null ? '' : `${message.step}. `;
  const route = routeOf(message);
  if (route) return [`${at}${route.from} handed over to ${route.to}`];
  if (message.role === 'assistant') {
    return [`${at}said: ${cut(oneLine((message.content as TextContent).text), LONGEST_TEXT)}`];
  }
  if (message.role !== 'tool_call') return [];
  const call = message.content as ToolCallContent;
  const told = results.get(call.id);
  if (!told) return [];
  const request = shown(call.arguments, policy, call.name, 'request');
  if (told.error) return [`${at}${call.name}(${request}) failed: ${told.error.code}`];
  return [`${at}${call.name}(${request}) → ${shown(told.result ?? null, policy, call.name, 'response')}`];
}

/** The paths that the policy names, or the beginning of the whole. */
function shown(
  value: Json,
  { defaults, tools }: LogPolicy,
  tool: string,
  side: 'request' | 'response',
): string {
  const most = side === 'request' ? defaults.requestMaxChars : defaults.responseMaxChars;
  const name = Object.keys(tools).find((key) => key.toLowerCase() === tool.toLowerCase());
  const excerpts = name === undefined ? [] : tools[name]![side];
  const found = excerpts.flatMap(({ path, label, maxChars }) => {
    const part = at(value, path);
    return part === undefined ? [] : [`${label ?? path}=${cut(text(part), maxChars ?? most)}`];
  });
  return found.length > 0 ? found.join(', ') : cut(text(value), most);
}

function at(value: Json, path: string): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path.split(/[.[\]]+/).filter((part) => part !== '')) {
    if (here === null || typeof here !== 'object' || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, Json>)[key];
  }
  return here;
}

function text(value: Json): string {
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

function oneLine(given: string): string {
  return given.replaceAll(/\s+/g, ' ').trim();
}

/** 0: all of it. */
function cut(given: string, most: number): string {
  return most === 0 || given.length <= most ? given : `${given.slice(0, most).toWellFormed()}…`;
}
