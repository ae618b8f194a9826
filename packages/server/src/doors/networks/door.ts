import {
  type AgentSnapshot,
  type JsonObject,
  type NetworkSnapshot,
  type RunError,
  type SnapshotModel,
  type SnapshotTool,
  snapshotTool,
  type Verdict,
} from '@troupe/protocol';
import type { Door, Meaning, MeantCall, ModelAnswer, RunView } from '../../kernel/index.ts';
import type { Database, NewEvent } from '../../store/index.ts';
import { changedSince, REPLY, stoppedEmpty, tasksPart } from '../shared/index.ts';
import { contextOf, delegateTool, plain } from './context.ts';
import { type Decided, decisionsOf, isTask, notesOf } from './decisions.ts';
import { DOOR } from './door-name.ts';
import { judge, judgeTask } from './judge.ts';
import { policyOf } from './network.ts';
import { type NetworkPosition, positionOf, type Refused, type Route } from './position.ts';
import { secretsMissing } from './secrets.ts';
import { type Opener, systemParamError } from './system-values.ts';

/**
 * Agents that hand over to one another, bound by a graph. A model sees what its agent may do and nothing else; what it decides is judged
 * all the same, and only what the verdict lets through happens.
 */
export function createNetworksDoor(db: Database, opener: Opener): Door {
  return {
    name: DOOR,
    tools,
    models: (view) => modelsOf(view),
    // Those of a batch stand in a lane.
    hasFollowers: ({ trigger }) => trigger.batch !== undefined,
    context: async (view) => {
      const position = positionOf(view);
      // Only for an agent that can speak to them; asked of it first, since a large network has thousands of tools.
      const speaks = position.agent.equippedTools.includes(REPLY);
      const tasks = speaks ? await tasksPart(db, view.snapshot, view.run) : '';
      return { ...contextOf(position, view, tasks), ...changedSince(view, { remembered: '', tasks }) };
    },
    settle: (view, answer) => settle({ db, opener }, view, answer),
  };
}

/** What carries out a delegation, where any agent of the network may decide so. */
function tools(snapshot: AgentSnapshot): SnapshotTool[] {
  const { agents, policy: given } = (snapshot as unknown as NetworkSnapshot).network;
  if (!agents.some(({ allowTaskGroup }) => allowTaskGroup)) return [];
  const policy = policyOf(given);
  return [
    snapshotTool.parse({
      ...delegateTool(),
      provider: 'delegate',
      // However often it is begun, there is one run.
      effect: 'idempotent',
      deadlineMs: policy.wallMs,
      config: { most: { depth: policy.taskDepth, runs: policy.runTasks } },
    }),
  ];
}

/** A run that stands nowhere fails when its context is made, with the reason. */
function modelsOf(view: Pick<RunView, 'run' | 'snapshot' | 'transcript'>): readonly SnapshotModel[] {
  try {
    return positionOf(view).agent.models;
  } catch {
    return view.snapshot.models;
  }
}

type Judged = Decided & { verdict: Verdict };

async function settle(
  { db, opener }: { db: Database; opener: Opener },
  view: RunView,
  answer: ModelAnswer,
): Promise<Meaning> {
  const stopped = stoppedEmpty(answer, view, FILTER_ADVICE);
  if (stopped) return stopped;
  const { text, calls } = answer;
  const position = positionOf(view);
  const { network, agent } = position;
  const judged = judgedBy(view, position, answer);
  const given = namesGiven(view.run.trigger);
  const unset =
    (await secretsMissing(db, view.run.projectId, network, judged)) ??
    (await systemParamError(db, opener, view.run, network, judged, given));
  const said: Meaning['messages'] = text.trim() === '' ? [] : [{ role: 'assistant', content: { text } }];
  const step = { agentKey: agent.key, decision: notesOf(judged) };

  const broken = unset ?? judged.find(({ verdict }) => verdict.status === 'error')?.verdict;
  if (broken) return { messages: said, calls: [], fail: failure(broken), step };

  const refused = judged.filter(({ verdict }) => verdict.status === 'retry');
  const ends = refused.length === 0 && judged[0]!.action.type === 'TASK_RESPOND';
  if (position.delegated && !ends && view.step >= network.policy.taskSteps)
    return { messages: said, calls: [], fail: tooLong(view.step), step };
  if (refused.length > 0) return refuse(view, position, { judged, refused, said, step });

  const [{ action, verdict }] = judged as [Judged, ...Judged[]];
  if (action.type === 'RESPOND' || action.type === 'TASK_RESPOND') {
    const response = verdict.response!;
    const asText = plain(response);
    return {
      // A text alone is the answer; beside a call it is what the model thought.
      messages: [
        ...(calls.length === 0 ? [] : said),
        {
          role: 'assistant',
          content: { text: calls.length === 0 ? text : asText },
          metadata: { response, agent: agent.key },
        },
      ],
      calls: [],
      outcome: { response, agent: agent.key },
      step,
    };
  }
  if (action.type === 'ROUTE_TO_AGENT') {
    const to = verdict.nextAgent!;
    const route: Route = { from: agent.key, to, context: action.context ?? null, step: view.step };
    return {
      messages: [
        ...said,
        {
          role: 'system',
          content: { text: `${agent.key} handed over to ${to}.` },
          metadata: { route: { ...route } },
        },
      ],
      calls: [],
      end: false,
      events: [{ type: 'route.taken', data: { from: agent.key, to } }],
      step: { ...step, handsOver: true },
    };
  }
  return { messages: said, calls: judged.map(asCall(position)), step };
}

function judgedBy(
  view: RunView,
  { network, agent, delegated }: NetworkPosition,
  answer: ModelAnswer,
): Judged[] {
  const given = namesGiven(view.run.trigger);
  const decided = decisionsOf(answer, view.snapshot.limits.messageBytes, { delegated });
  // Tools alone are no group: as many as the kernel lets through.
  const isGroup = decided.some(({ action }) => action.type === 'DELEGATE');
  const verdictOf = ({ action, problem }: Decided, place: number): Verdict => {
    if (problem) return problem;
    if (action.type === 'DELEGATE' || (isGroup && isTask(action)))
      return judgeTask(network, agent, { task: action, place }, given);
    return judge(network, agent.key, { action }, given, { delegated });
  };
  return decided.map((one, place) => ({ ...one, verdict: verdictOf(one, place) }));
}

function tooLong(steps: number): RunError {
  return { code: 'step_limit', message: `The task took ${steps} steps, the most it may, without an answer.` };
}

/** The same agent decides again, with what was wrong as the results of its calls; too often in a row, and the run fails. */
function refuse(
  view: RunView,
  position: NetworkPosition,
  {
    judged,
    refused,
    said,
    step,
  }: { judged: Judged[]; refused: Judged[]; said: Meaning['messages']; step: NonNullable<Meaning['step']> },
): Meaning {
  const { network, agent } = position;
  const events = refused.map(({ call, verdict }): NewEvent => {
    const data: JsonObject = { agent: agent.key, code: verdict.code, message: verdict.message };
    return { type: 'decision.refused', data: call ? { ...data, id: call.id } : data };
  });
  const whole = refused.length === judged.length;
  const last = refused.at(-1)!;
  const note: Refused = {
    agent: agent.key,
    codes: refused.map(({ verdict }) => verdict.code!),
    step: view.step,
    calls: refused.flatMap(({ call }) => call?.id ?? []),
    whole,
  };
  const why = last.verdict.message!;
  const isText = last.call === null;
  const messages: Meaning['messages'] = [
    ...said,
    {
      role: 'system',
      content: { text: isText ? `${why} Decide again, by calling a tool.` : `Refused: ${why}` },
      metadata: { refused: { ...note } },
    },
  ];
  if (whole && position.refusals >= network.policy.retries) {
    const times = position.refusals + 1;
    const message = `${times} decisions of \`${agent.key}\` in a row were refused; the last one (${last.verdict.code}): ${why}`;
    return { messages, calls: [], events, fail: { code: 'too_many_refusals', message }, step };
  }
  return { messages, calls: isText ? [] : judged.map(asCall(position)), end: false, events, step };
}

/** Under the name that the tool really has. */
function asCall({ network }: NetworkPosition) {
  return ({ call, action, verdict }: Judged): MeantCall => {
    const name =
      action.type === 'USE_TOOL' ? (network.executed(action.tool)?.name ?? call!.name) : call!.name;
    const { status, code, message } = verdict;
    // Whoever is given a task is known by the key that it really has.
    const given =
      action.type === 'DELEGATE' && status === 'ok'
        ? { arguments: { ...(call!.arguments as JsonObject), agent: verdict.nextAgent! } }
        : {};
    return status === 'ok'
      ? { ...call!, name, ...given }
      : { ...call!, name, refuse: { code: code!, message: message! } };
  };
}

/** The system parameters that the run was given, by name: their values are opened only where a tool is executed. */
function namesGiven(trigger: JsonObject): ReadonlySet<string> {
  const names = trigger.systemParams;
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
}

function failure({ code, message }: Verdict): RunError {
  return { code: code!, message: message! };
}

const FILTER_ADVICE = 'Give the agent another model, or remove the filtered content from the input.';
