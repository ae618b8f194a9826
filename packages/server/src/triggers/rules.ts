import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, MOST_TRIGGERS, type TriggerInput } from '@troupe/protocol';
import { z } from 'zod';
import {
  type ListQuery,
  newId,
  notFound,
  type Page,
  Refusal,
  RetryableError,
  readPage,
  versionConflict,
} from '../base/index.ts';
import * as store from '../store/index.ts';
import { checkRule } from './check.ts';
import { neverMatching } from './never-matching.ts';
import { type Issue, readRule } from './source.ts';

/** How long whoever writes a table is waited for: so long at most does everybody else who writes it wait too. */
const PATIENCE_MS = [50, 100, 100, 100, 100, 100, 100];
/** Between two tries nobody waits. */
const PAUSE_MS = 150;
/** Longer than Postgres takes to send away whoever only tidies up. */
const VACUUM_MS = 1_500;

/** Where a run or a message begins, nothing else would bound a circle that nobody sees. */
const RATE = 60;

export async function createTrigger(
  db: store.Database,
  author: store.Author,
  input: TriggerInput,
): Promise<store.TriggerRow> {
  const write = writeOf(input);
  return change(db, async (transaction) => {
    await requireRoom(transaction, author.project, 1);
    return create(transaction, author, write);
  });
}

export async function listTriggers(
  db: store.Database,
  project: string,
  query: ListQuery,
): Promise<Page<store.TriggerRow>> {
  return readPage(query, {
    position: z.string().max(64),
    positionOf: ({ name }) => name,
    read: (after, limit) => store.listTriggers(db.rows, project, { after, limit }),
  });
}

export async function getTrigger(
  db: store.Database,
  project: string,
  ref: string,
): Promise<store.TriggerRow> {
  return found(db.rows, project, ref);
}

export type TriggerChanges = { [Field in keyof TriggerInput]?: TriggerInput[Field] | undefined } & {
  baseVersion?: number | undefined;
};

export async function updateTrigger(
  db: store.Database,
  author: store.Author,
  ref: string,
  { baseVersion, ...changes }: TriggerChanges,
): Promise<store.TriggerRow> {
  return change(db, async (transaction) => {
    const row = await found(transaction, author.project, ref);
    if (baseVersion !== undefined && baseVersion !== row.version)
      throw versionConflict('trigger', row.version);
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    const input = { ...inputOf(row), ...Object.fromEntries(given) } as TriggerInput;
    // What is as it was stays the version that it is.
    if (isDeepStrictEqual(asJson(input), asJson(inputOf(row)))) return row;
    const write = writeOf(input);
    await update(transaction, author, row, write);
    return found(transaction, author.project, row.id);
  });
}

/** What waited is delivered from now on. */
export async function enableTrigger(
  db: store.Database,
  author: store.Author,
  ref: string,
): Promise<store.TriggerRow> {
  return change(db, async (transaction) => {
    const row = await found(transaction, author.project, ref);
    // What was right when it was saved may name what there is no more.
    writeOf(inputOf(row));
    await store.enableTrigger(transaction, row.id);
    if (!row.enabled) await note(transaction, author, 'trigger.enabled', row);
    return found(transaction, author.project, row.id);
  });
}

/** For each trigger, why it can never match at present. */
export function findingsOf(
  db: store.Database,
  project: string,
  rows: readonly store.TriggerRow[],
): Promise<Issue[][]> {
  return neverMatching(
    db,
    project,
    rows.map(({ definition }) => definition),
  );
}

export async function deleteTrigger(db: store.Database, author: store.Author, ref: string): Promise<void> {
  await change(db, async (transaction) =>
    remove(transaction, author, await found(transaction, author.project, ref)),
  );
}

export interface Applied {
  name: string;
  outcome: 'created' | 'updated' | 'unchanged' | 'deleted';
  version: number | null;
  /** Why it can never match at present. */
  findings: Issue[];
}

/** All or none. What is said already stays as it is, also where Troupe turned it off. */
export async function applyTriggers(
  db: store.Database,
  author: store.Author,
  { triggers, prune }: { triggers: JsonObject[]; prune: boolean },
): Promise<Applied[]> {
  const issues: Issue[] = [];
  const writes: store.TriggerWrite[] = [];
  for (const [at, given] of triggers.entries()) {
    const read = readRule(given);
    const wrong = read.issues ?? checkRule(read.input).issues;
    issues.push(
      ...wrong.map(({ path, message }) => ({ path: `triggers.${at}${path && '.'}${path}`, message })),
    );
    if (wrong.length === 0 && read.input) writes.push(writeOf(read.input));
    // Others have their turn between two conditions.
    await setImmediate();
  }
  const names = writes.map(({ name }) => name.toLowerCase());
  for (const [at, name] of names.entries())
    if (names.indexOf(name) < at) issues.push({ path: `triggers.${at}.name`, message: 'is there twice' });
  if (issues.length > 0) throw invalid(issues);
  const applied = await change(db, async (transaction) => {
    const { project } = author;
    const applied: Omit<Applied, 'findings'>[] = [];
    if (prune) {
      for (const row of await store.listTriggers(transaction, project, {
        after: undefined,
        limit: MOST_TRIGGERS + 1,
      })) {
        if (names.includes(row.name.toLowerCase())) continue;
        await remove(transaction, author, row);
        applied.push({ name: row.name, outcome: 'deleted', version: null });
      }
    }
    for (const write of writes) {
      const row = await store.readTrigger(transaction, project, write.name);
      if (!row) {
        await requireRoom(transaction, project, 1);
        await create(transaction, author, write);
        applied.push({ name: write.name, outcome: 'created', version: 1 });
      } else if (isSame(row, write)) {
        applied.push({ name: row.name, outcome: 'unchanged', version: row.version });
      } else {
        await update(transaction, author, row, write);
        applied.push({ name: write.name, outcome: 'updated', version: row.version + 1 });
      }
    }
    return applied;
  });
  const rules = writes.map(({ definition }) => definition);
  const findings = await neverMatching(db, author.project, rules);
  const byName = new Map(names.map((name, at) => [name, findings[at]!]));
  return applied.map((one) => ({ ...one, findings: byName.get(one.name.toLowerCase()) ?? [] }));
}

function isSame(row: store.TriggerRow, { name, definition, enabled }: store.TriggerWrite): boolean {
  const isOff = !row.enabled && row.disabledReason === null;
  return row.name === name && isDeepStrictEqual(row.definition, asJson(definition)) && isOff === !enabled;
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

// ---- what these are made of

/** One change of rules at a time; what is captured follows in the same commit. */
async function change<Result>(
  db: store.Database,
  act: (transaction: store.Transaction) => Promise<Result>,
): Promise<Result> {
  for (const [at, patience] of PATIENCE_MS.entries()) {
    if (at > 0) await delay(PAUSE_MS * (0.5 + Math.random()));
    const isLast = at === PATIENCE_MS.length - 1;
    try {
      return await store.inTransaction(db, async (transaction) => {
        await store.lockTriggers(transaction);
        const result = await act(transaction);
        const vacuum = isLast && (await store.isTidied(transaction));
        await store.armCaptures(transaction, vacuum ? VACUUM_MS : patience);
        return result;
      });
    } catch (error) {
      if (!store.isContention(error)) throw error;
    }
  }
  throw new RetryableError(
    'triggers_busy',
    'The table that the trigger is about was written to without a pause. Nothing was changed.',
    { retryAfterMs: 2_000 },
  );
}

async function create(
  transaction: store.Transaction,
  author: store.Author,
  write: store.TriggerWrite,
): Promise<store.TriggerRow> {
  const id = newId();
  if (!(await store.insertTrigger(transaction, author.project, id, write))) throw nameTaken(write.name);
  await note(transaction, author, 'trigger.created', { id, name: write.name });
  return found(transaction, author.project, id);
}

async function update(
  transaction: store.Transaction,
  author: store.Author,
  row: store.TriggerRow,
  write: store.TriggerWrite,
): Promise<void> {
  if (!(await store.updateTrigger(transaction, row.id, write))) throw nameTaken(write.name);
  await note(transaction, author, 'trigger.changed', { id: row.id, name: write.name });
}

async function remove(
  transaction: store.Transaction,
  author: store.Author,
  row: store.TriggerRow,
): Promise<void> {
  await store.deleteTrigger(transaction, row.id);
  await note(transaction, author, 'trigger.deleted', row);
}

function note(
  transaction: store.Transaction,
  author: store.Author,
  action: string,
  { id, name }: { id: string; name: string },
): Promise<void> {
  return store.noteChange(transaction, author, { action, target: id, data: { name } });
}

export async function found(on: store.Rows, project: string, ref: string): Promise<store.TriggerRow> {
  const row = await store.readTrigger(on, project, ref);
  if (!row) throw notFound('trigger');
  return row;
}

/** As it is stored; throws what is wrong with it. */
function writeOf(input: TriggerInput): store.TriggerWrite {
  const { glob, issues } = checkRule(input);
  if (!glob || issues.length > 0) throw invalid(issues);
  const { name, enabled, ratePerMinute, ...definition } = input;
  const rate = ratePerMinute === undefined ? (input.action.type === 'webhook' ? null : RATE) : ratePerMinute;
  return { name, enabled, definition: { ...definition, ratePerMinute: rate }, ...glob };
}

export function inputOf({ name, enabled, definition }: store.TriggerRow): TriggerInput {
  return { name, enabled, ...definition };
}

async function requireRoom(transaction: store.Transaction, project: string, more: number): Promise<void> {
  if ((await store.countTriggers(transaction, project)) + more <= MOST_TRIGGERS) return;
  throw new Refusal('conflict', 'too_many_triggers', `A project has ${MOST_TRIGGERS} triggers, no more.`, {
    hint: 'Delete some of them.',
  });
}

function invalid(issues: Issue[]): Refusal {
  const condition = issues.find(({ path }) => path.endsWith('condition'));
  const [{ path, message }] = [condition ?? issues[0]!];
  const code = condition ? 'condition_invalid' : 'trigger_invalid';
  return new Refusal('invalid', code, `The trigger is not valid: "${path}" ${message}.`, { issues });
}

function nameTaken(name: string): Refusal {
  return new Refusal('conflict', 'name_taken', `The project has a trigger named "${name}" already.`, {
    hint: 'Take another name, or change that trigger.',
    issues: [{ path: 'name', message: 'is taken' }],
  });
}
