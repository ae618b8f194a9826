import type { Api } from '@troupe/sdk';
import type { Fact } from './changes.ts';

// What differs in what a network only refers to: tools, models and agents of the project. The server tells it by JSONPath, below `$.compiled`.

interface Borrowed {
  what: 'tool' | 'agent';
  name: string;
  facts: Fact[];
}

/** By tool and by agent. What the documents show anyway, since it was added or removed there, is left out. */
export function borrowedIn(changes: readonly Api.Change[]): Borrowed[] {
  const found = new Map<string, Borrowed>();
  for (const change of changes) {
    const [, compiled, part, name, ...rest] = stepsOf(change.path);
    const what = whats[part ?? ''];
    // Without one side it is the tool or the agent itself that came or went.
    if (compiled !== 'compiled' || !what || name === undefined || isWhole(part!, rest, change)) continue;
    const one = found.get(`${what} ${name}`) ?? { what, name, facts: [] };
    found.set(`${what} ${name}`, one);
    one.facts.push(factOf(part!, rest, change));
  }
  return [...found.values()];
}

const whats: Partial<Record<string, Borrowed['what']>> = {
  tools: 'tool',
  schemas: 'tool',
  models: 'agent',
  prompts: 'agent',
};

function isWhole(part: string, rest: string[], { from, to }: Api.Change): boolean {
  if (part === 'prompts') return (from ?? '') === (to ?? '');
  return rest.length === 0 && (from === undefined || to === undefined);
}

function factOf(part: string, rest: string[], { from, to }: Api.Change): Fact {
  const label = labelOf(part, rest);
  if (rest.at(-2) === 'pinned' && rest.at(-1) === 'snapshot')
    return { kind: 'value', label: 'What it runs', from: 'as it was', to: 'as it is now' };
  const [before, after] = [written(from), written(to)];
  const isText = part === 'prompts' || [before, after].some((text) => /\n/.test(text) || text.length > 80);
  return { kind: isText ? 'text' : 'value', label, from: before, to: after };
}

function labelOf(part: string, rest: string[]): string {
  const path = rest.join('.');
  if (part === 'prompts') return 'Prompt';
  if (part === 'models') {
    const [place, ...fields] = rest;
    const model = Number(place) > 0 ? `Fallback model ${place}` : 'Model';
    return fields.length > 0 ? `${model}: ${fields.join('.')}` : model;
  }
  if (part === 'schemas') return `Parameters${path && `: ${path}`}`;
  return path === 'description' ? 'Description' : path.replace(/^config\./, '');
}

function written(value: Api.Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** `$.compiled.tools["a-b"].timeoutMs` and `$.compiled.models.desk[0].model` as words. */
function stepsOf(path: string): string[] {
  return [...path.matchAll(/\$|\.(\w+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)].map(
    ([all, word, place, quoted]) => word ?? place ?? (quoted ? (JSON.parse(quoted) as string) : all),
  );
}
