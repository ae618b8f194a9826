import { setImmediate } from 'node:timers/promises';
import type { TriggerAction } from '@troupe/protocol';
import { LRUCache } from 'lru-cache';
import { idFrom } from '../base/index.ts';
import * as store from '../store/index.ts';
import { type Condition, conditionOf, fires } from './condition.ts';
import { globOf } from './glob.ts';

/** As many triggers may lead to one another; what would be one more is not done, and says so. */
const MOST_DEPTH = 5;
const MOST_CHANGES = 100;
const MAX_KNOWN = 1_000;
const LONGEST_TURN_MS = 10;

/** A version of a rule, which never changes. */
export interface Rule {
  name: string;
  definition: store.TriggerDefinition;
  condition: Condition;
}

/** Rules as they were, by version. Null: it was deleted. */
export class Rules {
  readonly #db: store.Database;
  readonly #known = new LRUCache<string, Rule>({ max: MAX_KNOWN });

  constructor(db: store.Database) {
    this.#db = db;
  }

  /** Those that there are, by `keyOf`. */
  async get(wanted: readonly { id: string; version: number }[]): Promise<Map<string, Rule>> {
    const rules = new Map<string, Rule>();
    const missing = new Map<string, { id: string; version: number }>();
    for (const one of wanted) {
      const rule = this.#known.get(keyOf(one));
      if (rule) rules.set(keyOf(one), rule);
      else missing.set(keyOf(one), one);
    }
    const rows = missing.size > 0 ? await store.triggerVersions(this.#db, [...missing.values()]) : [];
    for (const { name, definition, ...one } of rows) {
      const rule = { name, definition, condition: compiled(definition) };
      rules.set(keyOf(one), rule);
      this.#known.set(keyOf(one), rule);
    }
    return rules;
  }
}

export function keyOf({ id, version }: { id: string; version: number }): string {
  return `${id}:${version}`;
}

/** What was checked when it was saved; a later version of Troupe may see it otherwise, and then says so with each change. */
function compiled({ condition, collection }: store.TriggerDefinition): Condition {
  try {
    return conditionOf(condition, globOf(collection)?.collections ?? []);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return () => ({ holds: false, error: message });
  }
}

function isOwn(action: TriggerAction): boolean {
  return action.type === 'webhook' && action.url.startsWith('/');
}

/** Judges what was changed by the rules of the time. True where there may be more. */
export async function judge(
  db: store.Database,
  rules: Rules,
  judged: () => Promise<void> = async () => {},
): Promise<boolean> {
  const changes = await store.openChanges(db, MOST_CHANGES);
  if (changes.length === 0) return false;
  const known = await rules.get(changes.flatMap((change) => change.rules));
  const deliveries: store.NewDelivery[] = [];
  const errors: store.Judged['errors'] = [];
  let since = performance.now();
  for (const change of changes) {
    for (const one of change.rules) {
      const rule = known.get(keyOf(one));
      if (!rule) continue;
      // Conditions are evaluated without a pause; everything else in this process waits meanwhile.
      if (performance.now() - since > LONGEST_TURN_MS) {
        await setImmediate();
        since = performance.now();
      }
      const { definition } = rule;
      const document = change.after ?? change.before!;
      const happened = {
        type: change.event,
        timestamp: change.createdAt.getTime(),
        document,
        before: change.before,
      };
      const how = { edge: definition.edge, conditional: definition.condition !== null };
      const { holds, error } = fires(rule.condition, how, happened);
      if (error !== undefined)
        errors.push({ trigger: one.id, version: one.version, message: error, path: change.path });
      if (!holds) continue;
      const tooDeep = definition.action.type !== 'webhook' && change.depth >= MOST_DEPTH;
      deliveries.push({
        id: idFrom(`${keyOf(one)}:${change.id}`, change.createdAt),
        change: change.id,
        trigger: one.id,
        version: one.version,
        own: isOwn(definition.action),
        ...(tooDeep ? { error: TOO_DEEP } : {}),
      });
    }
  }
  // The last error of each rule: one row is written once.
  const last = [...new Map(errors.map((error) => [error.trigger, error])).values()];
  await judged();
  await store.judgeChanges(db, { changes: changes.map(({ id }) => id), deliveries, errors: last });
  return changes.length === MOST_CHANGES;
}

const TOO_DEEP = {
  code: 'trigger_depth',
  message: `${MOST_DEPTH} triggers led to this change, one by the other; no more follow.`,
};
