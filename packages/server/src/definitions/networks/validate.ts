import type { NetworkDefinition, NetworkProblem } from '@troupe/protocol';
import { Refusal, writtenProblem } from '../../base/index.ts';
import { defaultOf, fold } from './compile.ts';
import { type Facts, modelsFor } from './facts.ts';
import { misfit, problem } from './problem.ts';
import { distancesFrom, distancesTo } from './reach.ts';
import { toolProblems } from './tool-problems.ts';

/**
 * All that is wrong with a network, at once. A pure function. What the database or an edit refuses is looked for all the same: rows may
 * be older than a rule, and tools, models and secrets change without the network.
 */
export function problemsOf(definition: NetworkDefinition, facts: Facts): NetworkProblem[] {
  return [
    ...agentProblems(definition, facts),
    ...routeProblems(definition),
    ...definition.tools.flatMap((tool) => toolProblems(tool, facts)),
    ...responseProblems(definition),
    ...logPolicyProblems(definition),
  ];
}

function agentProblems({ agents, tools }: NetworkDefinition, facts: Facts): NetworkProblem[] {
  const agentKeys = new Set(agents.map(({ key }) => fold(key)));
  const toolKeys = new Set(tools.map(({ key }) => fold(key)));
  return agents.flatMap((agent) => {
    const path = `agents.${agent.key}`;
    const unknownTools = agent.tools.flatMap((key, at) =>
      toolKeys.has(fold(key))
        ? []
        : [problem(`${path}.tools.${at}`, 'unknown_key', `"${key}" is no tool of the network.`)],
    );
    const badRoutes = agent.routes.flatMap((key, at) => {
      const where = `${path}.routes.${at}`;
      if (fold(key) === fold(agent.key))
        return [problem(where, 'self_route', `"${agent.key}" cannot route to itself.`)];
      if (agentKeys.has(fold(key))) return [];
      return [problem(where, 'unknown_key', `"${key}" is no agent of the network.`)];
    });
    const lender = agent.agentId === null || facts.lenders.has(agent.agentId.toLowerCase());
    return [
      ...(lender
        ? []
        : [
            problem(
              `${path}.agentId`,
              'agent_not_found',
              `There is no agent ${agent.agentId} in the project.`,
            ),
          ]),
      ...modelProblem(agent, facts),
      ...(agent.allowTaskGroup && agent.routes.length === 0
        ? [
            problem(
              `${path}.allowTaskGroup`,
              'no_routes_for_tasks',
              `"${agent.key}" may give tasks to others, and no route leads from it to anybody.`,
            ),
          ]
        : []),
      ...unknownTools,
      ...badRoutes,
    ];
  });
}

/** What would be called, whoever named it: the agent, the one that it takes after, or the project. */
function modelProblem(agent: NetworkDefinition['agents'][number], facts: Facts): NetworkProblem[] {
  try {
    modelsFor(agent, facts);
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [problem(`agents.${agent.key}.modelId`, modelCode(agent, facts), error.message)];
  }
}

function modelCode({ modelId, agentId }: NetworkDefinition['agents'][number], facts: Facts): string {
  const lender = agentId === null ? undefined : facts.lenders.get(agentId.toLowerCase());
  const named = modelId ?? lender?.defaultModelId ?? facts.models.projectModelId;
  const isThere = named === null || facts.models.models.some(({ id }) => id === named.toLowerCase());
  return isThere ? 'model_disabled' : 'model_not_found';
}

/** Cycles are no problem: `maxSteps` always bounds them. A run that can only end that way is one. */
function routeProblems(definition: NetworkDefinition): NetworkProblem[] {
  const { agents, policy } = definition;
  if (agents.length === 0) return [problem('agents', 'no_agents', 'The network has no agents.')];
  const problems: NetworkProblem[] = [];
  const responders = agents.filter(({ allowRespond }) => allowRespond);
  if (responders.length === 0)
    problems.push(problem('agents', 'no_responder', 'No agent may respond, so no run could end well.'));
  for (const { key } of agents.filter(({ isDefault }) => isDefault).slice(1))
    problems.push(problem(`agents.${key}.isDefault`, 'too_many_defaults', 'Another agent is the default.'));
  const first = defaultOf(definition);
  if (!first)
    problems.push(problem('agents', 'no_default', 'No agent is the default: where would runs begin?'));
  const toEnd = distancesTo(agents, responders);
  if (responders.length > 0) {
    // Whoever is given a task may answer that, and so may those that it is handed on to.
    const given = new Set(agents.flatMap((agent) => (agent.allowTaskGroup ? agent.routes.map(fold) : [])));
    const tasked = distancesFrom(
      agents,
      agents.filter(({ key }) => given.has(fold(key))),
    );
    const stuck = agents.filter(({ key }) => !toEnd.has(fold(key)) && !tasked.has(fold(key)));
    for (const { key } of stuck)
      problems.push(
        problem(
          `agents.${key}`,
          'no_way_to_respond',
          `"${key}" may not respond, and no route leads from it to an agent that may: only a limit would end a run there.`,
        ),
      );
  }
  if (!first) return problems;
  const fromStart = distancesFrom(agents, [first]);
  for (const { key, allowRespond } of agents.filter(({ key }) => !fromStart.has(fold(key))))
    problems.push(
      problem(
        `agents.${key}`,
        allowRespond ? 'responder_unreachable' : 'agent_unreachable',
        `No route leads from "${first.key}", where runs begin, to "${key}".`,
      ),
    );
  const hops = toEnd.get(fold(first.key));
  if (hops !== undefined && hops + 1 > policy.maxSteps)
    problems.push(
      problem(
        'policy.maxSteps',
        'too_few_steps',
        `The nearest agent that may respond is reached in step ${hops + 1}, and a run may have ${policy.maxSteps}.`,
      ),
    );
  return problems;
}

function responseProblems({ response: { schema, example } }: NetworkDefinition): NetworkProblem[] {
  if (schema === null) return [];
  const broken = writtenProblem(schema);
  if (broken)
    return [
      problem('response.schema', 'schema_invalid', `The schema of the response cannot be used: ${broken}.`),
    ];
  const wrong = example === null ? null : misfit(schema, example, 'the example');
  return wrong
    ? [problem('response.example', 'example_invalid', `It does not fit the schema: ${wrong}.`)]
    : [];
}

function logPolicyProblems({ tools, logPolicy }: NetworkDefinition): NetworkProblem[] {
  const known = new Set(tools.map(({ key }) => fold(key)));
  return Object.keys(logPolicy.tools)
    .filter((key) => !known.has(fold(key)))
    .map((key) => problem(`logPolicy.tools.${key}`, 'unknown_key', `"${key}" is no tool of the network.`));
}
