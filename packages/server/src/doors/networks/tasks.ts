import { type Json, type JsonObject, type SnapshotTool, toolNetwork } from '@troupe/protocol';
import { Refusal, TroupeError } from '../../base/index.ts';
import type { Kernel, ToolContext, ToolExecute } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { apart, beginChild, childIdOf, inputOf } from '../shared/index.ts';
import { plain } from './context.ts';
import { DOOR, HISTORY } from './door-name.ts';
import { networkToRun } from './invoke.ts';
import { sealed, sealedName } from './start-item.ts';

// Calls that begin runs of networks: another network as a tool, and another agent of the same one.

export interface TaskParts {
  db: store.Database;
  kernel: Kernel;
  /** What the system gives is sealed for one run: it is opened for the one that calls and sealed for the one that it begins. */
  encryption: {
    seal(project: string, name: string, value: string): object;
    open(project: string, name: string, sealed: unknown): string;
  };
}

interface Pinned {
  snapshot: string;
  network: { id: string; name: string; version: number };
  agent: string;
  wallMs: number;
}

/** A network that calls itself runs as the version that calls. */
interface PinnedSelf {
  self: true;
  agent: string;
  wallMs: number;
}

/** Another network: what the agent gives is its input, what the system gives are its system parameters, its response is the result. */
export function networkTask({ db, kernel, encryption }: TaskParts) {
  return (tool: SnapshotTool): ToolExecute =>
    async (args, context) => {
      const kept = tool.config.pinned as unknown as Pinned | PinnedSelf | undefined;
      const pinned = !kept
        ? await current(db, context.projectId, tool)
        : 'self' in kept
          ? await itself(db, context, kept)
          : kept;
      const { system, input } = apart(tool, args as JsonObject);
      const { snapshot, network, agent, wallMs } = pinned;
      return beginChild(kernel, tool, context, {
        text: inputOf(input),
        run: {
          door: DOOR,
          snapshot,
          trigger: { network, agent, systemParams: Object.keys(system) },
          wallMs,
          historyLimit: HISTORY,
          network: {
            id: network.id,
            version: network.version,
            sealed: sealed(encryption, context.projectId, sealedName(childIdOf(context)), system),
          },
        },
      });
    };
}

/** What a call would run; none is begun. */
export function networkCheck(db: store.Database) {
  return async (tool: SnapshotTool, { projectId }: { projectId: string }): Promise<string> => {
    const { network, agent } = await current(db, projectId, tool);
    return `It runs version ${network.version} of "${network.name}", from "${agent}" on. No run was begun.`;
  };
}

/** Outside of networks nothing is pinned: whoever calls gets the version that is current then. */
async function current(db: store.Database, project: string, { config }: SnapshotTool): Promise<Pinned> {
  const { network: ref, version, agent: key } = toolNetwork.parse(config.network);
  const found = await networkToRun(db, project, ref, { version, agent: key });
  if (found.status === 'archived')
    throw new Refusal('conflict', 'network_archived', `The network "${found.name}" is archived.`);
  const { id, name, snapshotId: snapshot, agent, wallMs } = found;
  return { snapshot, network: { id, name, version: found.version }, agent, wallMs };
}

async function itself(
  db: store.Database,
  { projectId, runId }: ToolContext,
  { agent, wallMs }: PinnedSelf,
): Promise<Pinned> {
  const { snapshotId, trigger } = await callerOf(db, projectId, runId);
  return { snapshot: snapshotId, network: trigger.network as Pinned['network'], agent, wallMs };
}

async function callerOf(db: store.Database, project: string, run: string): Promise<store.TaskParent> {
  const parent = await store.taskParent(db, project, run);
  if (!parent?.network) throw new TroupeError('run_lost', 'There is no such run of a network any more.');
  return parent;
}

/** Another agent of the same network in the same version, with the same system parameters. */
export function delegateTask({ db, kernel, encryption }: TaskParts) {
  return (tool: SnapshotTool): ToolExecute =>
    async (args, context) => {
      const {
        agent,
        assignment,
        context: told,
      } = args as { agent: string; assignment: string; context?: Json };
      const { projectId, runId } = context;
      const parent = await callerOf(db, projectId, runId);
      const system = parent.sealed
        ? (JSON.parse(encryption.open(projectId, sealedName(runId), parent.sealed)) as JsonObject)
        : {};
      const { network, systemParams = [] } = parent.trigger as { network: Json; systemParams?: Json };
      return beginChild(kernel, tool, context, {
        text: told == null ? assignment : `${assignment}\n\n# Context\n\n${plain(told)}`,
        run: {
          door: DOOR,
          snapshot: parent.snapshotId,
          trigger: { network, agent, systemParams, delegated: true },
          wallMs: tool.deadlineMs,
          historyLimit: HISTORY,
          network: {
            ...parent.network!,
            sealed: sealed(encryption, context.projectId, sealedName(childIdOf(context)), system),
          },
        },
      });
    };
}
