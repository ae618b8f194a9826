import type { Json, JsonObject } from '@troupe/protocol';
import type { ModelTool } from '../../kernel/ports.ts';
import { jsonSpanEnd } from '../json-span.ts';
import { isErrand } from './delegation.ts';
import type { PlannedCall, Reply } from './reply.ts';
import { isObject, properties } from './schema.ts';
import type { Situation } from './situation.ts';
import { toolList } from './tool-list.ts';

/** More than any run may make at once; a message of a megabyte could ask for a hundred thousand. */
const MOST_CALLS = 1000;
const ASKED = /\b(?:use|call|run|invoke)\s+(?:the\s+)?(?:tool\s+)?[`"']?([A-Za-z_][\w.:/-]{0,127})[`"']?/gi;
const BETWEEN = /(?:\s+tool\b)?\s*(?:with\b|using\b|:)?\s*(?:(?:the\s+)?(?:arguments?|input)\b:?)?\s*/y;
const PAIR = /\s*(?:,\s*)?(?:and\s+)?([A-Za-z_]\w*)\s*=\s*("[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'|[^\s,;]+)/y;

/** `use weather with {"city":"Rome"}`, `call add {"a":1} and call noop`, `call weather city=Rome days=2`. */
export function requestedCalls({ heard, tools, toolsForbidden, request }: Situation): Reply | undefined {
  if (!heard || isErrand({ heard, tools })) return undefined;
  const known = toolsByName(request.tools);
  const calls: PlannedCall[] = [];
  ASKED.lastIndex = 0;
  for (
    let asked = ASKED.exec(heard.text);
    asked && calls.length < MOST_CALLS;
    asked = ASKED.exec(heard.text)
  ) {
    const name = asked[1]!.replace(/[.:/-]+$/, '');
    const tool = known.get(name) ?? known.get(name.toLowerCase());
    const given = argumentsAt(heard.text, ASKED.lastIndex, tool);
    // Unreadable arguments end the search: looking on behind them could read the rest of the text once per request.
    if (given === 'unreadable') {
      return { say: `I could not read the arguments for \`${name}\`; please write them as a JSON object.` };
    }
    if (!tool) {
      if (!given) continue; // "call me Ada", "use your head"
      return { say: `I have no tool named \`${name}\`. ${toolList(request.tools)}` };
    }
    if (toolsForbidden)
      return { say: `I may not use tools in this step, so I cannot call \`${tool.name}\`.` };
    calls.push({ name: tool.name, arguments: given?.arguments ?? {} });
    if (given) ASKED.lastIndex = given.end;
  }
  return calls.length > 0 && tools.size > 0 ? { call: calls } : undefined;
}

/** Also under the name in lower case, where no other tool has that name. */
function toolsByName(tools: readonly ModelTool[]): Map<string, ModelTool> {
  const lower = tools.map((tool) => [tool.name.toLowerCase(), tool] as const);
  return new Map([...lower, ...tools.map((tool) => [tool.name, tool] as const)]);
}

type Given = { arguments: JsonObject; end: number };

function argumentsAt(
  text: string,
  from: number,
  tool: ModelTool | undefined,
): Given | 'unreadable' | undefined {
  BETWEEN.lastIndex = from;
  BETWEEN.exec(text);
  const start = BETWEEN.lastIndex;
  return text[start] === '{' ? jsonArguments(text, start) : pairs(text, start, tool);
}

function jsonArguments(text: string, start: number): Given | 'unreadable' {
  const end = jsonSpanEnd(text, start);
  if (end === undefined) return 'unreadable';
  try {
    const value = JSON.parse(text.slice(start, end)) as Json;
    return isObject(value) ? { arguments: value, end } : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function pairs(text: string, start: number, tool: ModelTool | undefined): Given | undefined {
  const known = tool ? properties(tool.inputSchema) : new Map<string, JsonObject>();
  const found: [string, Json][] = [];
  let end = start;
  PAIR.lastIndex = start;
  for (let pair = PAIR.exec(text); pair; pair = PAIR.exec(text)) {
    end = PAIR.lastIndex;
    const written = end === text.length ? pair[2]!.replace(/(?<=[^.?!])[.?!]{1,3}$/, '') : pair[2]!;
    found.push([pair[1]!, valueFrom(written, known.get(pair[1]!)?.type)]);
  }
  return found.length > 0 ? { arguments: Object.fromEntries(found), end } : undefined;
}

/** A number, a boolean or null where it looks like one and the schema does not want a string. */
function valueFrom(written: string, type: Json | undefined): Json {
  const quoted = /^(["'])([\s\S]*)\1$/.exec(written);
  if (quoted) return quoted[2]!.replace(/\\(["'\\])/g, '$1');
  if (type === 'string') return written;
  if (written === 'true' || written === 'false') return written === 'true';
  if (written === 'null') return null;
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(written) ? Number(written) : written;
}
