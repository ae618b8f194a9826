import { MOST_GOALS, MOST_MEMORIES } from '@troupe/protocol';
import { type Encryption, secretToSend } from '../access/index.ts';
import { fileType, TroupeError } from '../base/index.ts';
import { delegateTask, networkCheck, networkTask, sealedName } from '../doors/networks/index.ts';
import { agentCheck, agentTask, recallActs } from '../doors/sessions/index.ts';
import { spaceActs } from '../doors/spaces/index.ts';
import { delegationActs } from '../doors/tasks/index.ts';
import { type Kernel, persistently } from '../kernel/index.ts';
import type { Outgoing } from '../outgoing/index.ts';
import { deletePlansOfRun, plansOfRun, setPlansOfRun } from '../plans/index.ts';
import * as store from '../store/index.ts';
import type {
  Files,
  McpConnections,
  MemoryPart,
  PlansPart,
  SecretValues,
  SystemParams,
  Todos,
  ToolParts,
} from '../tools/index.ts';
import { openOutgoing } from './allow-lists.ts';
import { findingsIn } from './findings.ts';

/** Less than the tools have. */
const LONGEST_MS = 10_000;

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(
  db: store.Database,
  encryption: Encryption,
  {
    kernel,
    outgoing = openOutgoing(() => db),
    mcp,
  }: { kernel?: Kernel | undefined; outgoing?: Outgoing; mcp?: McpConnections } = {},
): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: secretsOf(db, encryption),
    files: filesOf(db),
    todos: todosOf(db),
    memory: memoryPart(db),
    plans: plansPart(db),
    outgoing,
    ...(mcp ? { mcp } : {}),
    findings: findingsIn(db),
    systemParams: systemParamsOf(db, encryption),
    checks: { code: codeCheck(db), network: networkCheck(db), agent: agentCheck(db) },
    ...(kernel
      ? {
          ofDoors: { ...spaceActs({ db, kernel }), ...recallActs(db) },
          tasks: tasksOf({ db, kernel, encryption }),
        }
      : {}),
  };
}

export function secretsOf(db: store.Database, encryption: Encryption): SecretValues {
  return { reveal: (project, name) => secretToSend(db, encryption, project, name) };
}

/** What may be done twice is done again where the answer was lost: told as failed, a model would do it once more. */
function surely<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  return persistently(act, AbortSignal.timeout(LONGEST_MS));
}

function memoryPart({ rows }: store.Database): MemoryPart {
  return {
    setMemories: (where, memories) => surely(() => store.setMemories(rows, where, memories, MOST_MEMORIES)),
    memories: (where, keys) => store.memoriesOfRun(rows, where, { keys, most: 2 * MOST_MEMORIES }),
    deleteMemories: (where, keys) => surely(() => store.deleteMemories(rows, where, keys)),
    setGoals: (where, goals) => surely(() => store.setGoals(rows, where, goals, MOST_GOALS)),
    goals: (where, status) => store.goalsOfRun(rows, where, { status }),
    deleteGoals: (where, ids) => surely(() => store.deleteGoals(rows, where, ids)),
  };
}

function plansPart(db: store.Database): PlansPart {
  return {
    set: (by, plans) => surely(() => setPlansOfRun(db, by, plans)),
    list: (by, status, limit) => plansOfRun(db, by, { status, limit }),
    delete: (by, ids) => surely(() => deletePlansOfRun(db, by, ids)),
  };
}

function filesOf(db: store.Database): Files {
  return {
    list: (thread, path) => store.listFiles(db, thread, path),
    read: (thread, path) => store.readFile(db, thread, path),
    write: (writer, path, content) =>
      store.writeFile(db, writer.threadId, writer, { path, content, type: fileType(path, content) }),
    delete: (writer, path, recursive) => store.deleteFiles(db, writer.threadId, writer, path, recursive),
    change: (writer, changes) =>
      store.changeFiles(
        db,
        writer.threadId,
        writer,
        [...changes].map(([path, content]) => ({
          path,
          content,
          type: content ? fileType(path, content) : '',
        })),
      ),
  };
}

function systemParamsOf(db: store.Database, encryption: Encryption): SystemParams {
  return {
    open: async (project, run) => {
      const sealed = await store.sealedOfRun(db, project, run);
      return sealed === null ? {} : JSON.parse(encryption.open(project, sealedName(run), sealed));
    },
  };
}

/** Whether somebody would take runs that need the function. */
function codeCheck(db: store.Database): ToolParts['checks'][string] {
  return async ({ config }) => {
    const name = String(config.function);
    const { workers, seenAt } = await store.codeToolsOfWorkers(db, name);
    if (workers > 0)
      return `${workers === 1 ? '1 worker has' : `${workers} workers have`} the function "${name}". It was not called.`;
    const last = seenAt ? `; the last one had it until about ${seenAt.toISOString()}` : '';
    throw new TroupeError(
      'tool_unavailable',
      `No worker has the function "${name}"${last}. Start one with --tools, or TROUPE_TOOLS.`,
    );
  };
}

function tasksOf(parts: { db: store.Database; kernel: Kernel; encryption: Encryption }): ToolParts['tasks'] {
  return {
    network: networkTask(parts),
    agent: agentTask(parts),
    delegate: delegateTask(parts),
    delegation: delegationActs(parts),
  };
}

function todosOf(db: store.Database): Todos {
  return {
    read: async (thread) => (await store.readTodos(db, thread)).todos,
    write: (writer, todos) => store.writeTodos(db, writer.threadId, writer, todos),
  };
}
