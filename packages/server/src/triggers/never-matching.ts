import { type ChangeEvent, type Collection, syncSchemas, type TriggerInput } from '@troupe/protocol';
import { LRUCache } from 'lru-cache';
import { inProcessorTime, once } from '../base/index.ts';
import * as store from '../store/index.ts';
import { cel } from './cel.ts';
import type { Expression } from './cel-check.ts';
import { COLLECTIONS } from './collections.ts';
import { globOf } from './glob.ts';
import type { Issue } from './source.ts';

// Rules that are valid and match nothing: ids in the path that do not exist, and conditions that no document fulfils.

const schemas = once(syncSchemas);

type Rule = Pick<TriggerInput, 'collection' | 'condition' | 'events'>;

const KINDS: Record<string, keyof store.PathIds> = {
  '{userId}': 'users',
  '{chatId}': 'chats',
  '{subAgentId}': 'subAgents',
  '{spaceId}': 'spaces',
};

const WORDS: Record<keyof store.PathIds, string> = {
  users: 'no user of the project has this id or external id',
  chats: 'no session, space or run of the project has this id',
  subAgents: 'no sub-agent of the project has this id',
  spaces: 'no space of the project has this id',
};

/** For each rule, why it can never match at present; empty if it can. */
export async function neverMatching(
  db: store.Database,
  project: string,
  rules: readonly Rule[],
): Promise<Issue[][]> {
  const literals = rules.map(({ collection }) => literalsOf(collection));
  const ids: store.PathIds = { users: [], chats: [], subAgents: [], spaces: [] };
  for (const { kind, id } of literals.flat()) ids[kind].push(id);
  const found = literals.some((each) => each.length > 0) ? await store.findPathIds(db, project, ids) : [];
  const known = new Map(found.map((one) => [`${one.kind} ${one.id}`, one.users]));
  return rules.map((rule, at) => {
    const issues = literals[at]!.filter(({ kind, id }) => !known.has(`${kind} ${id}`)).map(
      ({ kind, id }) => ({
        path: 'collection',
        message: `matches nothing: ${WORDS[kind]}: "${id}"`,
      }),
    );
    const [user, chat] = (['users', 'chats'] as const).map((kind) => {
      const literal = literals[at]!.find((one) => one.kind === kind);
      return literal && known.get(`${kind} ${literal.id}`);
    });
    if (user && chat?.length && !chat.some((owner) => user.includes(owner)))
      issues.push({ path: 'collection', message: 'matches nothing: the session belongs to another user' });
    const reason = conditionNeverHolds(rule);
    if (reason) issues.push({ path: 'condition', message: `never holds: ${reason}` });
    return issues;
  });
}

/** The ids that a path names. */
function literalsOf(path: string): { kind: keyof store.PathIds; id: string }[] {
  const [collection] = globOf(path)?.collections ?? [];
  if (collection === undefined) return [];
  const shape = COLLECTIONS[collection]!.path.split('/');
  return path.split('/').flatMap((id, at) => {
    const kind = KINDS[shape[at]!];
    return kind && id !== '*' && id !== '-' ? [{ kind, id }] : [];
  });
}

/** Values of fields in new documents. */
const CREATED: Record<string, Record<string, readonly string[]>> = {
  tasks: { status: ['pending'] },
  sub_agents: { status: ['active'] },
};

/** Rules are read more often than they change, and parsing may take long. */
const judged = new LRUCache<string, { reason: string | null }>({ max: 1_000 });
const LONGEST_MS = 200;

/** Null if it may be true. */
function conditionNeverHolds({ collection, condition, events }: Rule): string | null {
  const collections = globOf(collection)?.collections ?? [];
  if (condition === null || collections.length === 0) return null;
  const key = JSON.stringify([collections, events, condition]);
  const known = judged.get(key);
  if (known) return known.reason;
  let reason: string | null = null;
  const { parse } = cel();
  const values = (name: string) => valuesOf(name, collections, events);
  try {
    reason = inProcessorTime(LONGEST_MS, () => neverHolds(parse(condition).expr, values));
  } catch {
    // A condition that cannot be read is refused when it is saved.
  }
  judged.set(key, { reason });
  return reason;
}

/** All values that a field can have; null: any. */
function valuesOf(
  name: string,
  collections: readonly string[],
  events: readonly ChangeEvent[],
): readonly string[] | null {
  if (name === 'event.type') return events;
  const field = /^event\.document\.(?:data\.)?(\w+)$/.exec(name)?.[1];
  if (field === undefined) return null;
  const values = new Set<string>();
  for (const collection of collections) {
    const created = events.every((event) => event === 'create') ? CREATED[collection]?.[field] : undefined;
    const listed = created ?? (schemas()[collection as Collection].properties[field]?.enum as string[]);
    if (!Array.isArray(listed)) return null;
    for (const value of listed) values.add(value);
  }
  return [...values];
}

type Values = (name: string) => readonly string[] | null;

/** Why an expression is false for all documents; null if it may be true. */
function neverHolds(expression: Expression, values: Values): string | null {
  const { exprKind } = expression;
  if (exprKind.case === 'constExpr')
    return exprKind.value.constantKind.case === 'boolValue' && !exprKind.value.constantKind.value
      ? 'it is false'
      : null;
  if (exprKind.case !== 'callExpr') return null;
  const [left, right] = exprKind.value.args;
  if (!left || !right) return null;
  switch (exprKind.value.function) {
    case '_&&_':
      return neverHolds(left, values) ?? neverHolds(right, values);
    case '_||_': {
      const reasons = [neverHolds(left, values), neverHolds(right, values)];
      return reasons.every((reason) => reason !== null) ? reasons.join(' and ') : null;
    }
    case '_==_':
      return neverEqual(left, right, values) ?? neverEqual(right, left, values);
    case '@in': {
      if (right.exprKind.case !== 'listExpr') return null;
      const reasons = right.exprKind.value.elements.map((element) => neverEqual(left, element, values));
      return reasons.every((reason) => reason !== null) ? (reasons[0] ?? 'the list is empty') : null;
    }
    default:
      return null;
  }
}

function neverEqual(field: Expression, constant: Expression, values: Values): string | null {
  const name = nameOf(field);
  const { exprKind } = constant;
  if (name === null || exprKind.case !== 'constExpr') return null;
  const { constantKind } = exprKind.value;
  const possible = constantKind.case === 'stringValue' ? values(name) : null;
  if (possible === null || possible.includes(String(constantKind.value))) return null;
  return `${name} is never "${constantKind.value}", only ${possible.map((value) => `"${value}"`).join(', ')}`;
}

/** `event.document.status`; null for anything else than a name with fields. */
function nameOf({ exprKind }: Expression): string | null {
  if (exprKind.case === 'identExpr') return exprKind.value.name;
  if (exprKind.case !== 'selectExpr' || exprKind.value.testOnly || !exprKind.value.operand) return null;
  const operand = nameOf(exprKind.value.operand);
  return operand === null ? null : `${operand}.${exprKind.value.field}`;
}
