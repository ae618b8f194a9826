import type { JsonObject, TriggerInput, TriggerTest } from '@troupe/protocol';
import * as store from '../store/index.ts';
import { checkRule } from './check.ts';
import { conditionOf } from './condition.ts';
import { neverMatching } from './never-matching.ts';
import { found, inputOf } from './rules.ts';
import { readRule } from './source.ts';

// What a rule would match, among the newest documents as they are. Nothing is written and nothing is sent.

export async function testTrigger(
  db: store.Database,
  project: string,
  ref: string,
  limit: number,
): Promise<TriggerTest> {
  return test(db, project, inputOf(await found(db.rows, project, ref)), limit);
}

/** What is wrong with it is found, not refused. */
export async function testUnsaved(
  db: store.Database,
  project: string,
  given: JsonObject,
  limit: number,
): Promise<TriggerTest> {
  const read = readRule(given);
  if (read.input === null) return { findings: read.issues, results: [] };
  return test(db, project, read.input, limit);
}

async function test(
  db: store.Database,
  project: string,
  input: TriggerInput,
  limit: number,
): Promise<TriggerTest> {
  const { glob, issues } = checkRule(input);
  if (!glob || issues.length > 0) return { findings: issues, results: [] };
  const condition = conditionOf(input.condition, glob.collections);
  const pattern = new RegExp(glob.pattern);
  const event = input.events[0]!;
  const results: TriggerTest['results'] = [];
  for (const collection of glob.collections) {
    for (const { path, alias, document } of await store.newestDocuments(db, project, collection, limit)) {
      const documentId = String(document.id);
      const at = { path: `${path}/${documentId}`, documentId, event };
      if (!pattern.test(path) && !(alias !== null && pattern.test(alias))) {
        results.push({ ...at, matches: false, reason: `its path is not ${input.collection}` });
        continue;
      }
      const before = event === 'create' ? null : document;
      const { holds, error } = condition({ type: event, timestamp: Date.now(), document, before });
      results.push({ ...at, matches: holds, reason: reasonOf(holds, error, input) });
    }
  }
  const [never] = await neverMatching(db, project, [input]);
  return { findings: [...(await secretsMissing(db, project, input)), ...never!], results };
}

/** A rule may be saved before its secrets are; until they are, nothing of it is delivered. */
async function secretsMissing(
  db: store.Database,
  project: string,
  { action }: TriggerInput,
): Promise<TriggerTest['findings']> {
  if (action.type !== 'webhook') return [];
  const inHeaders = Object.values(action.headers).flatMap((value) =>
    [...value.matchAll(/\{\{\s*secrets\.([\w.-]+)\s*\}\}/g)].map(([, name]) => name!),
  );
  const named = [...new Set([...action.secrets, ...inHeaders])];
  return (await store.secretsNotSet(db, project, named)).map((name) => ({
    path: 'action',
    message: `names the secret "${name}", which the project does not have; nothing is delivered without it`,
  }));
}

function reasonOf(
  holds: boolean,
  error: string | undefined,
  { condition, edge, events }: TriggerInput,
): string {
  if (error !== undefined) return `the condition cannot be evaluated: ${error}`;
  if (!holds) return 'the condition does not hold';
  if (condition === null) return 'there is no condition';
  return edge && events.includes('update')
    ? 'the condition holds; an update fires it only where it did not hold before'
    : 'the condition holds';
}
