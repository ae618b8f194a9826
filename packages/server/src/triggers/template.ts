import type { Json, JsonObject } from '@troupe/protocol';
import { valueAt } from '../base/index.ts';
import { fieldsOf } from './collections.ts';

/** What a text with `{{document.field}}` in it is filled from. */
export interface Told {
  event: { type: string; path: string };
  document: JsonObject;
  before: JsonObject | null;
}

const PLACE = /\{\{([^{}]*)\}\}/g;

/** What is wrong with a text, or null. */
export function templateProblem(text: string, collections: readonly string[]): string | null {
  const fields = fieldsOf(collections);
  for (const [whole, inner] of text.matchAll(PLACE)) {
    const [from, ...path] = pathOf(inner!);
    if (from === 'event' && path.length === 1 && ['type', 'path'].includes(path[0]!)) continue;
    if (from !== 'document' && from !== 'before')
      return `has ${whole}; known are {{document.…}}, {{before.…}}, {{event.type}} and {{event.path}}`;
    if (path.length > 0 && !Object.hasOwn(fields, path[0]!))
      return `has ${whole}, but documents of the collection have no "${path[0]}"; they have ${Object.keys(fields).join(', ')}`;
  }
  return null;
}

/** `document.data.x` is `document.x`, as in conditions. */
function pathOf(inner: string): string[] {
  const path = inner.trim().split('.');
  if (path[1] === 'data') path.splice(1, 1);
  return path;
}

/** Texts as they are, everything else as JSON; nothing where there is nothing. What is filled in is not read as a template again. */
export function filledIn(text: string, told: Told): string {
  return text.replaceAll(PLACE, (_, inner: string) => {
    const value = valueAt(told as unknown as Json, pathOf(inner));
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
