import {
  logPolicy,
  networkAgentDefinition,
  networkDefinition,
  networkPolicy,
  responseContract,
} from '@troupe/protocol';
import { type Document, isMap, isSeq, LineCounter, parseDocument, stringify } from 'yaml';
import type { Definition } from '../draft/definition.ts';
import { same } from '../draft/same.ts';

// A network as a text that people write: without what is as it would be anyway, and with a line for everything that is wrong.

export type Format = 'yaml' | 'json';
interface Flaw {
  /** From 1 on. */
  line: number;
  message: string;
}
export type Read = { definition: Definition; flaws: [] } | { definition: null; flaws: Flaw[] };

export function writeDefinition(definition: Definition, format: Format): string {
  const written = brief(definition);
  return format === 'json'
    ? `${JSON.stringify(written, null, 2)}\n`
    : stringify(written, { lineWidth: 100, blockQuote: 'literal' });
}

/** Without defaults. */
function brief(definition: Definition): object {
  const { name, agents, tools, ...rest } = definition;
  const plain = {
    description: null,
    policy: networkPolicy.parse({}),
    response: responseContract.parse({}),
    logPolicy: logPolicy.parse({}),
    metadata: {},
  };
  const agent = networkAgentDefinition.parse({ key: 'a' });
  return {
    name,
    ...differing(rest, plain),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ key, ...tool }) => ({
            key,
            ...differing({ ...tool, params: briefParams(tool.params) }, { description: null, params: null }),
          })),
        }
      : {}),
    agents: agents.map(({ key, ...own }) => ({ key, ...differing(own, agent) })),
  };
}

function briefParams(params: Definition['tools'][number]['params']): object[] | null {
  const usual = { source: 'agent', required: false, schema: {} };
  return params?.map(({ name, ...param }) => ({ name, ...differing(param, usual) })) ?? null;
}

/** Fields that are not as they would be; of policies, those of their fields. */
function differing(given: object, plain: object): object {
  const usual = plain as Record<string, unknown>;
  const fields = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    if (same(value, usual[name])) return [];
    const isPolicy = name === 'policy' || name === 'response';
    return [[name, isPolicy ? differing(value as object, usual[name] as object) : value]];
  });
  return Object.fromEntries(fields);
}

/** JSON is YAML too: one reader for both. */
export function readDefinition(text: string): Read {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    return {
      definition: null,
      flaws: document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message })),
    };
  const result = networkDefinition.safeParse(document.toJS());
  if (result.success) return { definition: result.data, flaws: [] };
  return {
    definition: null,
    flaws: result.error.issues.map(({ path, message }) => ({
      line: lineOf(document, lines, path.map(String)),
      message: `${path.join('.') || 'The document'}: ${message}`,
    })),
  };
}

/** Where the server's problems stand in the text. Its paths name agents by key or by place. */
export function placeFlaws(text: string, problems: readonly { path: string; message: string }[]): Flaw[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  return problems.map(({ path, message }) => ({
    line: lineOf(document, lines, path.split('.')),
    message,
  }));
}

function lineOf(document: Document, lines: LineCounter, path: string[]): number {
  let node: unknown = document.contents;
  let start = 0;
  for (const part of path) {
    const next = isSeq(node)
      ? (node.items[Number(part)] ??
        node.items.find((item) => isMap(item) && keyOf(item.get('key')) === part.toLowerCase()))
      : isMap(node)
        ? node.items.find(({ key }) => keyOf(key) === part.toLowerCase())
        : undefined;
    if (!next) break;
    // Of a field the line of its name; of an entry of a list the line where it begins.
    const pair = next as { key?: { range?: [number] }; value?: unknown; range?: [number] };
    const place = pair.key?.range ?? pair.range;
    if (place) start = place[0];
    node = isMap(node) ? pair.value : next;
  }
  return lines.linePos(start).line;
}

function keyOf(key: unknown): string {
  const value = key !== null && typeof key === 'object' && 'value' in key ? key.value : key;
  return String(value).toLowerCase();
}
