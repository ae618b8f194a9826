import {
  type GoalStatus,
  goalStatus,
  type Json,
  MOST_GOALS,
  MOST_MEMORIES,
  memoryKey,
} from '@troupe/protocol';
import { idFrom, isId, TroupeError } from '../../base/index.ts';
import type { ToolContext, ToolExecute } from '../../kernel/ports.ts';
import type { KeptByCall, KeptChange, KeptDeleted, KeptRefused, MemoryPart, Provider } from '../ports.ts';

// Arguments fit the schemas of the capability by the time they come here. What a schema cannot say is refused here, in a
// sentence that the model can act on.

/** What one result may hold, so that it stays far below what a tool may answer. */
const MOST_BYTES = 100_000;

type Act = (args: never, where: KeptByCall, context: ToolContext) => Promise<Json>;

export function memoryTools(part: MemoryPart): [string, Provider][] {
  const acts: Record<string, Act> = {
    set_memories: async ({ memories }: { memories: { key: string; value: string }[] }, where) => {
      const once = new Map(memories.map(({ key, value }) => [checkedKey(key), value]));
      const written = await part.setMemories(
        where,
        [...once].map(([key, value]) => ({ key, value })),
      );
      if (!written.ok) throw refusalOf(written, `memories, of which there can be ${MOST_MEMORIES}`);
      return { success: true, count: once.size };
    },
    get_memories: async ({ keys }: { keys?: string[] }, where) => {
      const found = await part.memories(where, keys?.map((key) => key.trim()) ?? null);
      const rows = found.map(({ key, value, updatedAt }) => ({
        key,
        value,
        updatedAt: updatedAt.toISOString(),
      }));
      const fit = fitting(rows);
      if (fit.length === rows.length) return { memories: rows };
      return {
        memories: fit,
        notShown: rows.slice(fit.length, fit.length + 100).map(({ key }) => key),
        hint: 'Read these by their keys.',
      };
    },
    delete_memories: async ({ keys }: { keys: string[] }, where) => {
      const deleted = await part.deleteMemories(
        where,
        keys.map((key) => key.trim()),
      );
      return { success: true, deleted: countOf(deleted) };
    },
    set_goals: async ({ goals }: { goals: GivenGoal[] }, where, { runId, callId }) => {
      const writes = goals.map((goal, index) => writeOf(goal, `${runId}:${callId}:${index}`));
      const known = writes.filter((write) => write.known).map(({ id }) => id);
      const twice = known.find((id, index) => known.indexOf(id) !== index);
      if (twice)
        throw new TroupeError('goal_twice', `The goal ${twice} is there twice. Nothing was changed.`);
      const written = await part.setGoals(where, writes);
      if (!written.ok) throw refusalOf(written, `goals, of which there can be ${MOST_GOALS}`);
      const created = writes.filter((write) => !write.known).map(({ id }) => id);
      return { success: true, created: created.length, updated: known.length, createdIds: created };
    },
    get_goals: async ({ status }: { status?: GoalStatus }, where) => {
      const found = await part.goals(where, status ?? null);
      const rows = found.map(({ id, description, status: now, priority, updatedAt }) => ({
        id,
        description,
        status: now,
        priority,
        updatedAt: updatedAt.toISOString(),
      }));
      const fit = fitting(rows);
      return fit.length === rows.length
        ? { goals: rows }
        : { goals: fit, notShown: rows.length - fit.length };
    },
    delete_goals: async ({ goalIds }: { goalIds: string[] }, where) => {
      const deleted = await part.deleteGoals(where, goalIds.filter(isId));
      return { success: true, deleted: countOf(deleted) };
    },
  };
  return Object.entries(acts).map(([name, act]) => [
    name,
    ({ config }) => executing(act, config.per === 'agent' ? 'agent' : 'person'),
  ]);
}

function executing(act: Act, per: KeptByCall['per']): ToolExecute {
  return (args, context) => {
    const { projectId: project, entityId: entity, runId: run, epoch, worker } = context;
    if (entity === null) {
      throw new TroupeError(
        'no_entity',
        'This run speaks as nobody: there is no one whose memories these would be.',
      );
    }
    return act(args as never, { project, entity, per, run, epoch, worker }, context);
  };
}

interface GivenGoal {
  id?: string;
  description?: string;
  status?: GoalStatus;
  priority?: number;
}

/** A new goal has an id that follows from its call: a second try of it finds what the first one wrote. */
function writeOf({ id, description, status, priority }: GivenGoal, key: string) {
  if (id === undefined && (description === undefined || description.trim() === '')) {
    throw new TroupeError(
      'goal_without_description',
      'A new goal needs a description; one that changes needs its id. Nothing was changed.',
    );
  }
  if (id !== undefined && !isId(id)) throw unknownGoals([id]);
  return {
    id: id ?? idFrom(key),
    known: id !== undefined,
    ...(description === undefined ? {} : { description }),
    ...(status === undefined ? {} : { status: goalStatus.parse(status) }),
    ...(priority === undefined ? {} : { priority }),
  };
}

function checkedKey(key: string): string {
  const checked = memoryKey.safeParse(key);
  if (checked.success) return checked.data;
  throw new TroupeError(
    'invalid_key',
    `${JSON.stringify(key.slice(0, 50))} cannot be a key: use one line of 1 to 200 characters. Nothing was written.`,
  );
}

function fitting<Row>(rows: Row[]): Row[] {
  let left = MOST_BYTES;
  const end = rows.findIndex((row) => {
    left -= Buffer.byteLength(JSON.stringify(row));
    return left < 0;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(end, 1));
}

function countOf(deleted: KeptDeleted): number {
  if (deleted.ok) return deleted.deleted;
  throw notWritten(deleted.code);
}

function refusalOf(refused: Exclude<KeptChange, { ok: true }>, what: string): TroupeError {
  switch (refused.code) {
    case 'run_lost':
    case 'owner_unknown':
      return notWritten(refused.code);
    case 'not_found':
      return unknownGoals(refused.ids);
    case 'too_many':
      return new TroupeError(
        'too_many',
        `There are ${refused.held} ${what}. Nothing was written: delete some first.`,
      );
  }
}

function unknownGoals(ids: string[]): TroupeError {
  return new TroupeError(
    'goal_not_found',
    `There is no goal ${ids.join(', ')}. Nothing was changed; get_goals tells the ids.`,
  );
}

function notWritten(code: KeptRefused['code']): TroupeError {
  if (code === 'run_lost') return new TroupeError(code, 'Another worker has taken over this run.');
  return new TroupeError(
    code,
    'The conversation that this run comes from was deleted, and with it whose memories and goals these would be. Nothing was changed; go on without.',
  );
}
