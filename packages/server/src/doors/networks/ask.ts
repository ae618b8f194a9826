import type { AgentSnapshot, Instruction, Json, JsonObject, Verdict } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import { compileDraft } from '../../definitions/networks/index.ts';
import type { Context } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { contextOf } from './context.ts';
import { networkToRun, unknownAgent } from './invoke.ts';
import { judge } from './judge.ts';
import { type Network, networkOf } from './network.ts';
import { secretsMissing } from './secrets.ts';
import { refuseUnknown, type SystemNames, systemNamesOf } from './system-params.ts';
import { systemValueError } from './system-values.ts';

// What can be asked of a network without running it: of a version, or of what is being edited.

interface Asked {
  version?: number | undefined;
  draft?: boolean;
  agent?: string | undefined;
  delegated?: boolean;
}

/** What the runtime would say to a decision of this agent. */
export async function checkInstruction(
  db: store.Database,
  project: string,
  ref: string,
  asked: Asked & { instruction: Instruction; systemParams: JsonObject },
): Promise<Verdict> {
  const { network, agent, systemNames } = await load(db, project, ref, asked);
  // Nothing is looked up where nothing is given.
  if (Object.keys(asked.systemParams).length > 0) refuseUnknown(await systemNames(), asked.systemParams);
  const given = new Set(Object.keys(asked.systemParams));
  const { instruction, delegated = false } = asked;
  const verdict = judge(network, agent, instruction, given, { delegated });
  const { action } = instruction;
  const judged =
    action.type === 'TASK_GROUP'
      ? action.tasks.flatMap((task, at) => {
          const of = verdict.tasks?.[at];
          return of ? [{ action: task, verdict: of }] : [];
        })
      : [{ action, verdict }];
  const unset = await secretsMissing(db, project, network, judged);
  const broken = unset ?? systemValueError(network, judged, asked.systemParams);
  return broken ? { ...(verdict.tasks ? { tasks: verdict.tasks } : {}), ...broken } : verdict;
}

/** What this agent would be told, were the run to begin with it. */
export async function promptOf(
  db: store.Database,
  project: string,
  ref: string,
  asked: Asked & { input: string | JsonObject },
): Promise<{ agent: string } & Required<Pick<Context, 'system' | 'messages' | 'tools'>>> {
  const { network, agent: key } = await load(db, project, ref, asked);
  const agent = network.agent(key)!;
  const text = typeof asked.input === 'string' ? asked.input : JSON.stringify(asked.input);
  const message: store.StoredMessage = {
    id: newId(),
    seq: 1,
    role: 'user',
    content: { text } as Json,
    callId: null,
    sender: null,
    runId: null,
    step: null,
    metadata: null,
  };
  const { delegated = false } = asked;
  const place = { network, agent, delegated, route: null, asked: message, earlier: [], own: [], refusals: 0 };
  const { system, messages, tools } = contextOf(place, {
    // Nothing was said yet, so nobody looks at the run.
    run: {} as Parameters<typeof contextOf>[1]['run'],
    model: agent.models[0]!,
    snapshot: network.snapshot as unknown as AgentSnapshot,
  });
  return { agent: key, system, messages, tools: tools ?? [] };
}

async function load(
  db: store.Database,
  project: string,
  ref: string,
  asked: Asked,
): Promise<{ network: Network; agent: string; systemNames: () => Promise<SystemNames> }> {
  if (asked.draft) return loadDraft(db, project, ref, asked.agent);
  const of = await networkToRun(db, project, ref, asked);
  const [found] = await store.loadSnapshots(db, [of.snapshotId]);
  return {
    network: networkOf(found!.compiled),
    agent: of.agent,
    systemNames: () => systemNamesOf(db, of),
  };
}

async function loadDraft(db: store.Database, project: string, ref: string, asked: string | undefined) {
  const network = networkOf(await compileDraft(db, project, ref));
  const agent = network.agent(asked ?? network.graph.defaultAgent ?? '');
  if (!agent) throw unknownAgent(asked);
  const params = network.graph.tools.flatMap((tool) => tool.params);
  const names = new Set(params.filter(({ source }) => source === 'system').map(({ name }) => name));
  return { network, agent: agent.key, systemNames: async () => ({ version: null, names }) };
}
