import type { Instruction, Json, JsonObject, NetworkTask, SnapshotParam, Verdict } from '@troupe/protocol';
import { argumentProblem, messageOf, withoutAbsentNulls } from '../../base/index.ts';
import type { Network, NetworkAgentNode } from './network.ts';

// Whether an agent may do what it decided. Pure, and the only place that says so: the loop goes by it, and so does `check`.
// `retry` is the model's fault, and tells it what is allowed; `error` is the operator's, and no other decision would help.

/** As many as a refusal tells the model of. */
const MOST_NAMES = 50;

/** `given`: the names of the system parameters that there are values for. `delegated`: the agent works on a task that it was given. */
export function judge(
  network: Network,
  agentKey: string,
  { action }: Instruction,
  given: ReadonlySet<string>,
  { delegated = false }: { delegated?: boolean } = {},
): Verdict {
  const agent = network.agent(agentKey);
  if (!agent) return error('unknown_agent', `The network has no agent "${agentKey}".`);
  switch (action.type) {
    case 'RESPOND':
      return delegated
        ? retry('respond_in_task', 'This is a task, which is answered with TASK_RESPOND and nothing else.')
        : judgeRespond(network, agent, action.payload);
    case 'TASK_RESPOND':
      return delegated
        ? { ...OK, response: action.payload }
        : retry('not_a_task', `This is no task that \`${agent.key}\` was given. ${allowed(agent)}`);
    case 'TASK_GROUP':
      return judgeGroup(network, agent, action.tasks, given);
    case 'USE_TOOL':
      return judgeTool(network, agent, action, given);
    case 'ROUTE_TO_AGENT':
      return judgeRoute(network, agent, action.agent);
  }
}

function judgeRespond(network: Network, agent: NetworkAgentNode, payload: Json): Verdict {
  if (!agent.allowRespond)
    return retry('respond_not_allowed', `\`${agent.key}\` may not respond. ${allowed(agent)}`);
  const { schema } = network.graph.response;
  // A text is an answer with nothing but a message, unless the contract wants a text.
  const forms: Json[] = typeof payload === 'string' ? [{ message: payload }, payload] : [payload];
  if (schema === null) return { ...OK, response: forms[0]! };
  try {
    const problems = forms.map((form) => argumentProblem(schema, form, 'the payload'));
    const fitting = problems.indexOf(null);
    if (fitting >= 0) return { ...OK, response: forms[fitting]! };
    return retry(
      'response_invalid',
      `The payload does not fit what the network must answer: ${problems[0]}. Respond again with one that does. Its schema: ${JSON.stringify(schema)}`,
    );
  } catch (problem) {
    return error(
      'contract_broken',
      `What the network must answer cannot be checked: ${messageOf(problem)}. Its author must correct the schema.`,
    );
  }
}

function judgeRoute(network: Network, agent: NetworkAgentNode, key: string, what = 'hand over to'): Verdict {
  const to = network.agent(key);
  if (!to) return retry('unknown_agent', `There is no agent \`${key}\`. ${allowed(agent)}`);
  if (!network.isRoute(agent, key))
    return retry('route_not_allowed', `\`${agent.key}\` may not ${what} \`${to.key}\`. ${allowed(agent)}`);
  return { ...OK, nextAgent: to.key };
}

/** The whole is as its worst part; what is let through of it is for whoever carries it out. */
function judgeGroup(
  network: Network,
  agent: NetworkAgentNode,
  tasks: readonly NetworkTask[],
  given: ReadonlySet<string>,
): Verdict {
  if (!agent.allowTaskGroup) return noTasks(agent);
  const verdicts = tasks.map((task, place) => judgeTask(network, agent, { task, place }, given));
  const worst =
    verdicts.find(({ status }) => status === 'error') ?? verdicts.find(({ status }) => status === 'retry');
  const { status, code, message } = worst ?? OK;
  return { status, code, message, tasks: verdicts };
}

/** One of several, by its place among them. */
export function judgeTask(
  network: Network,
  agent: NetworkAgentNode,
  { task, place }: { task: NetworkTask; place: number },
  given: ReadonlySet<string>,
): Verdict {
  const { maxTasks } = network.policy;
  if (place >= maxTasks)
    return retry(
      'too_many_tasks',
      `Only ${maxTasks} tasks can be given at once; this one was not. Give it later.`,
    );
  if (task.type === 'USE_TOOL') return judgeTool(network, agent, task, given);
  if (!agent.allowTaskGroup) return noTasks(agent);
  const to = judgeRoute(network, agent, task.agent, 'give tasks to');
  if (to.status !== 'ok' || task.assignment.trim() !== '') return to;
  return retry('invalid_params', 'A task needs an assignment: what is to be done.');
}

function noTasks(agent: NetworkAgentNode): Verdict {
  return retry('task_group_not_allowed', `\`${agent.key}\` may not give tasks to others. ${allowed(agent)}`);
}

function judgeTool(
  network: Network,
  agent: NetworkAgentNode,
  { tool: key, params: asked }: { tool: string; params: JsonObject },
  given: ReadonlySet<string>,
): Verdict {
  const tool = network.tool(key);
  const executed = network.executed(key);
  if (!tool || !executed) return retry('unknown_tool', `There is no tool \`${key}\`. ${allowed(agent)}`);
  if (!network.isEquipped(agent, key))
    return retry('tool_not_allowed', `\`${agent.key}\` may not call \`${tool.key}\`. ${allowed(agent)}`);

  const { inputSchema } = executed;
  const params = withoutAbsentNulls(inputSchema, asked);
  const of = (source: SnapshotParam['source']) => tool.params.filter((param) => param.source === source);
  const [agents, system, defaults] = [of('agent'), of('system'), of('default')];
  const takes = agents.length
    ? `It takes ${names(agents.map(({ name }) => name))}.`
    : 'It takes no parameters.';

  const taken = (params_: SnapshotParam[]) => params_.find(({ name }) => Object.hasOwn(params, name));
  const ofSystem = taken(system);
  if (ofSystem)
    return retry(
      'system_param_given',
      `\`${ofSystem.name}\` of \`${tool.key}\` is given by the system and by nobody else. ${takes}`,
    );
  const ofDefault = taken(defaults);
  if (ofDefault)
    return retry(
      'default_param_given',
      `\`${ofDefault.name}\` of \`${tool.key}\` is always the same and given by nobody. ${takes}`,
    );
  if (inputSchema.additionalProperties === false) {
    const known = new Set(agents.map(({ name }) => name));
    const unknown = Object.keys(params).find((name) => !known.has(name));
    if (unknown !== undefined)
      return retry(
        'unknown_param',
        `\`${tool.key}\` has no parameter \`${unknown.slice(0, 100)}\`. ${takes}`,
      );
  }
  const missing = agents.filter((param) => isMissing(param, (name) => Object.hasOwn(params, name)));
  if (missing.length > 0)
    return retry(
      'missing_param',
      `\`${tool.key}\` needs ${names(missing.map(({ name }) => name))}, which the call does not have. ${takes}`,
    );
  const unset = [...system, ...defaults].find((param) =>
    isMissing(param, (name) => param.source === 'system' && given.has(name)),
  );
  if (unset) {
    return unset.source === 'system'
      ? error(
          'missing_system_param',
          `The tool "${tool.key}" needs the system parameter "${unset.name}", which the run was not given. Give it in \`systemParams\` of the invocation.`,
        )
      : error('missing_default', `The parameter "${unset.name}" of "${tool.key}" has no default.`);
  }
  try {
    const problem = argumentProblem(inputSchema, params, 'the parameters');
    return problem
      ? retry('invalid_params', `The parameters of \`${tool.key}\` do not fit: ${problem}. ${takes}`)
      : { ...OK, params };
  } catch (problem) {
    return error(
      'broken_schema',
      `The schema of "${tool.key}" cannot be used: ${messageOf(problem)}. Its author must correct it.`,
    );
  }
}

function isMissing(param: SnapshotParam, has: (name: string) => boolean): boolean {
  return param.required && param.defaultValue === undefined && !has(param.name);
}

/** What this agent may decide instead. */
function allowed(agent: NetworkAgentNode): string {
  const { allowRespond, allowTaskGroup, equippedTools, allowedRoutes } = agent;
  return [
    equippedTools.length > 0 ? `Tools that it may call: ${names(equippedTools)}.` : 'It may call no tools.',
    allowedRoutes.length > 0
      ? `Agents that it may hand over to: ${names(allowedRoutes)}.`
      : 'It may hand over to nobody.',
    ...(allowTaskGroup ? ['It may give these tasks.'] : []),
    allowRespond ? 'It may respond.' : 'It may not respond.',
  ].join(' ');
}

function names(all: readonly string[]): string {
  const shown = all.slice(0, MOST_NAMES).map((name) => `\`${name}\``);
  return `${shown.join(', ')}${all.length > MOST_NAMES ? ' and more' : ''}`;
}

const OK = { status: 'ok', code: null, message: null } as const;

function retry(code: string, message: string): Verdict {
  return { status: 'retry', code, message };
}

function error(code: string, message: string): Verdict {
  return { status: 'error', code, message };
}
