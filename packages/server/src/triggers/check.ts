import type { TriggerInput } from '@troupe/protocol';
import { COLLECTIONS } from './collections.ts';
import { ConditionInvalid, conditionOf } from './condition.ts';
import { type Glob, globOf } from './glob.ts';
import type { Issue } from './source.ts';
import { templateProblem } from './template.ts';

/** What a rule means, and all that is wrong with it beyond its shape. */
export function checkRule({
  collection,
  condition,
  action,
  events,
}: Pick<TriggerInput, 'collection' | 'condition' | 'action' | 'events'>): {
  glob: Glob | null;
  issues: Issue[];
} {
  const issues: Issue[] = [];
  const glob = globOf(collection);
  if (!glob || glob.collections.length === 0) {
    const known = Object.values(COLLECTIONS).map(({ path }) => path.replaceAll(/\{\w+\}/g, '*'));
    const message = `is no path of a collection; there are ${known.join(', ')}, and * is any one segment`;
    return { glob: null, issues: [{ path: 'collection', message }] };
  }
  try {
    conditionOf(condition, glob.collections);
  } catch (error) {
    if (!(error instanceof ConditionInvalid)) throw error;
    issues.push({ path: 'condition', message: error.message });
  }
  if (new Set(events).size < events.length) issues.push({ path: 'events', message: 'names one twice' });
  const texts: Record<string, string> = {};
  if (action.type === 'run') texts['action.instruction'] = action.instruction;
  if (action.type === 'message') {
    texts['action.text'] = action.text;
    for (const field of ['session', 'space'] as const)
      if (action[field]) texts[`action.${field}`] = action[field];
    if ((action.session === undefined) === (action.space === undefined))
      issues.push({ path: 'action', message: 'needs `session` or `space`, one of them' });
    if (action.space !== undefined && action.as === undefined)
      issues.push({ path: 'action.as', message: 'is missing: somebody has to say it in the space' });
    if (action.session !== undefined && action.as !== undefined)
      issues.push({ path: 'action.as', message: 'is for spaces; in a session its user says it' });
  }
  if (action.type === 'webhook') {
    for (const [name, value] of Object.entries(action.headers)) {
      const left = value.replaceAll(/\{\{\s*secrets\.[A-Za-z_][A-Za-z0-9_.-]{0,99}\s*\}\}/g, '');
      if (left.includes('{{'))
        issues.push({
          path: `action.headers.${name}`,
          message: 'may hold {{secrets.NAME}} and nothing else in braces',
        });
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
        issues.push({ path: `action.headers.${name}`, message: 'holds characters that no header may hold' });
    }
    if (!URL.canParse(action.url, 'http://own'))
      issues.push({ path: 'action.url', message: 'is no address of the web' });
    else if (new URL(action.url, 'http://own').username !== '')
      issues.push({ path: 'action.url', message: 'must not hold a user name or a password' });
  }
  for (const [path, text] of Object.entries(texts)) {
    const message = templateProblem(text, glob.collections);
    if (message) issues.push({ path, message });
  }
  return { glob, issues };
}
