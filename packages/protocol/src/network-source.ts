import { z } from 'zod';
import { alsoNamed, renamed } from './common.ts';

// Network documents in snake case, with the fields of a compiled network. They are read as definitions and not kept.

const AGENT = {
  display_name: 'displayName',
  allow_respond: 'allowRespond',
  allow_task_group: 'allowTaskGroup',
  is_default: 'isDefault',
  agent_id: 'agentId',
  model_id: 'modelId',
  equipped_tools: 'tools',
  equippedTools: 'tools',
  allowed_routes: 'routes',
  allowedRoutes: 'routes',
};

/** An agent of a network as such documents have it. */
export function agentSource<Schema extends z.ZodType>(schema: Schema) {
  return alsoNamed(AGENT, schema);
}

/** A whole network as such documents have it. */
export function networkSource<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(fromSource, schema) as z.ZodType<z.output<Schema>, z.input<Schema>>;
}

/** `adjacency` adds to the routes of agents. `validation` is left out, because publishing computes it. */
function fromSource(given: unknown, context: z.RefinementCtx): unknown {
  if (!isObject(given)) return given;
  const { adjacency, validation: _, ...rest } = renamed({ log_policy: 'logPolicy' }, given) as Fields;
  if (isObject(rest.policy)) rest.policy = renamed(inCamelCase(rest.policy), rest.policy);
  if (!Array.isArray(rest.agents)) return adjacency === undefined ? rest : { ...rest, adjacency };
  const agents = rest.agents.map((agent) => renamed(AGENT, agent));
  const added = routesIn(adjacency, agents, context);
  return { ...rest, agents: agents.map((agent) => withRoutes(agent, added)) };
}

/** By the folded key of the agent that they start at. */
function routesIn(
  adjacency: unknown,
  agents: readonly unknown[],
  context: z.RefinementCtx,
): Map<string, string[]> {
  const routes = new Map(
    agents.map((agent): [string, string[]] => [isObject(agent) ? fold(agent.key) : '', []]),
  );
  if (adjacency !== undefined && !Array.isArray(adjacency))
    context.addIssue({ code: 'custom', path: ['adjacency'], message: 'must be a list' });
  for (const [index, edge] of (Array.isArray(adjacency) ? adjacency : []).entries()) {
    const from = isObject(edge) && typeof edge.to === 'string' ? routes.get(fold(edge.from)) : undefined;
    if (from) from.push((edge as { to: string }).to);
    else {
      const message = 'must have `from` and `to`, the keys of two agents of the document';
      context.addIssue({ code: 'custom', path: ['adjacency', index], message });
    }
  }
  return routes;
}

function withRoutes(agent: unknown, added: ReadonlyMap<string, string[]>): unknown {
  const more = isObject(agent) ? (added.get(fold(agent.key)) ?? []) : [];
  if (!isObject(agent) || more.length === 0) return agent;
  const routes = Array.isArray(agent.routes) ? agent.routes : [];
  const known = new Set(routes.map(fold));
  return { ...agent, routes: [...routes, ...new Set(more.filter((key) => !known.has(fold(key))))] };
}

/** Keys are case-insensitive. */
function fold(key: unknown): string {
  return String(key).toLowerCase();
}

function inCamelCase(fields: object): Record<string, string> {
  const camel = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.keys(fields).map((name) => [name, camel(name)]));
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
