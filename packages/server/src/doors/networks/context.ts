import type { Json, JsonObject, TextContent } from '@troupe/protocol';
import { type Context, type ModelTool, type RunView, toModelMessages } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { roomFor, shortened } from '../shared/index.ts';
import type { Network, NetworkAgentNode } from './network.ts';
import { type NetworkPosition, refusedOf } from './position.ts';
import { summaries } from './summary.ts';

/** The decisions that are no tools; a tool of the network with such a name cannot be called. */
export const RESPOND = 'respond';
export const ROUTE = 'route_to_agent';
export const DELEGATE = 'delegate_to_agent';

const DECISIONS: ReadonlySet<string> = new Set([RESPOND, ROUTE, DELEGATE]);
const BETWEEN = '\n\n---\n\n';

/** Everything that an agent is told: who it is, what it may decide, what is asked, and what happened since it was handed the run. */
export function contextOf(
  position: NetworkPosition,
  view: Pick<RunView, 'run' | 'model' | 'snapshot'>,
  tasks = '',
): Context {
  const { network, agent, own, delegated } = position;
  const system = [systemOf(network, agent, delegated), tasks].filter((part) => part !== '').join(BETWEEN);
  const tools = toolsOf(network, agent, delegated);
  // Of a large network an agent sees little: only that takes room.
  const seen = { ...view.snapshot, prompt: system, tools: tools as typeof view.snapshot.tools };
  const room = roomFor({ model: view.model, snapshot: seen });
  const said = toModelMessages(own, view, (message) => (refusedOf(message)?.calls.length ? [] : null));
  return { system, messages: shortened([{ role: 'user', text: askedOf(position) }, ...said], room), tools };
}

function systemOf(network: Network, agent: NetworkAgentNode, delegated: boolean): string {
  return [agent.prompt, constraintsOf(network, agent, delegated)].filter((part) => part !== '').join(BETWEEN);
}

function constraintsOf(network: Network, agent: NetworkAgentNode, delegated: boolean): string {
  const { allowRespond, allowTaskGroup, equippedTools, allowedRoutes } = agent;
  const lines = [
    `You are the agent \`${agent.key}\` of a network of agents. Decide what to do next by calling tools; nothing else has an effect.`,
  ];
  if (equippedTools.length > 0)
    lines.push('- Call any of your other tools, several at once where that helps.');
  if (allowedRoutes.length > 0) {
    lines.push(
      `- Call \`${ROUTE}\` to hand over to another agent. It sees what you give it as \`context\`, and only one line of each step before. Call it alone.`,
    );
  }
  if (allowTaskGroup && allowedRoutes.length > 0) {
    lines.push(
      `- Call \`${DELEGATE}\` to have another agent work on a task while you wait, up to ${network.policy.maxTasks} at once, beside your other tools if you like. Each agent sees its assignment and its context, and nothing else. You read all the results when the last one is there.`,
    );
  }
  if (delegated) {
    lines.push(
      `- Call \`${RESPOND}\` to answer the task that you were given, which ends your part. Call it alone.`,
    );
    if (allowedRoutes.length > 0) lines.push(...agentLines(network, allowedRoutes));
    return lines.join('\n');
  }
  lines.push(
    allowRespond
      ? `- Call \`${RESPOND}\` to answer what was asked, which ends the work. Call it alone.`
      : '- You may not answer yourself.',
  );
  if (allowedRoutes.length > 0) lines.push(...agentLines(network, allowedRoutes));
  if (allowRespond) lines.push(...contractLines(network));
  return lines.join('\n');
}

function agentLines(network: Network, keys: string[]): string[] {
  return ['', 'Agents that you may hand over to:', ...keys.map((key) => routeLine(network.agent(key), key))];
}

function routeLine(agent: NetworkAgentNode | undefined, key: string): string {
  const name = agent?.displayName ? ` (${agent.displayName})` : '';
  return `- \`${key}\`${name}${agent?.description ? `: ${agent.description}` : ''}`;
}

function contractLines({ graph: { response } }: Network): string[] {
  const lines: string[] = [];
  if (response.schema)
    lines.push('', `The payload must fit this JSON Schema: ${JSON.stringify(response.schema)}`);
  if (response.guidance) lines.push('', response.guidance);
  if (response.example !== null) lines.push('', `For example: ${JSON.stringify(response.example)}`);
  return lines;
}

/** What a model may call as this agent: so it can only name what there is. */
function toolsOf(network: Network, agent: NetworkAgentNode, delegated: boolean): ModelTool[] {
  const tools = agent.equippedTools.flatMap((key): ModelTool[] => {
    const tool = network.executed(key);
    if (!tool || DECISIONS.has(key)) return [];
    return [{ name: tool.name, description: tool.description, inputSchema: tool.inputSchema }];
  });
  if (delegated) tools.push(respondTool(null));
  else if (agent.allowRespond) tools.push(respondTool(network.graph.response.schema));
  if (agent.allowedRoutes.length > 0) tools.push(routeTool(agent.allowedRoutes));
  if (agent.allowTaskGroup && agent.allowedRoutes.length > 0) tools.push(delegateTool(agent.allowedRoutes));
  return tools;
}

function respondTool(schema: JsonObject | null): ModelTool {
  // References are to the root of a schema, where this one no longer is.
  const payload = schema === null || JSON.stringify(schema).includes('"$ref"') ? {} : schema;
  return {
    name: RESPOND,
    description: 'Answer what was asked. The work ends with it.',
    inputSchema: {
      type: 'object',
      properties: { payload },
      required: ['payload'],
      additionalProperties: false,
    },
  };
}

function routeTool(routes: string[]): ModelTool {
  return {
    name: ROUTE,
    description: 'Hand over to another agent, which goes on from here.',
    inputSchema: {
      type: 'object',
      properties: {
        agent: { type: 'string', enum: routes },
        context: { description: 'All that the agent needs to know.' },
      },
      required: ['agent'],
      additionalProperties: false,
    },
  };
}

/** Without `agents`, as the kernel executes it: whom an agent may give tasks is judged before. */
export function delegateTool(agents?: string[]): ModelTool {
  return {
    name: DELEGATE,
    description: 'Have another agent work on a task. Its answer is the result of this call.',
    inputSchema: {
      type: 'object',
      properties: {
        agent: { type: 'string', ...(agents ? { enum: agents } : {}) },
        assignment: { type: 'string', description: 'What is to be done, and what the answer must have.' },
        context: { description: 'All that the agent needs to know beside it.' },
      },
      required: ['agent', 'assignment'],
      additionalProperties: false,
    },
  };
}

function askedOf({ network, asked, route, earlier }: NetworkPosition): string {
  const input = asked ? textOf(asked) : '';
  if (!route) return input;
  const lines = summaries(earlier, network.graph.logPolicy);
  return [
    `# What was asked\n\n${input}`,
    route.context === null ? '' : `# What \`${route.from}\` handed over\n\n${plain(route.context)}`,
    lines.length === 0 ? '' : `# What happened before\n\n${lines.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function textOf({ content }: StoredMessage): string {
  return (content as TextContent).text;
}

/** As a person would write it: a text as it is, anything else as JSON. */
export function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
