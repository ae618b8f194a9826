import type { Api } from '@troupe/sdk';

// The way that a run took, from the steps that it has.

type Step = Api.RunStep;
/** What a step keeps of a decision. */
export interface Decision {
  type: string;
  tool?: string;
  agent?: string;
  call?: string;
  status: 'ok' | 'retry' | 'error';
  code?: string;
}
type Route = readonly [string, string];

export interface Path {
  agents: string[];
  routes: Route[];
  /** Who is at it; null where nobody is known yet. */
  at: string | null;
  /** By which route the run came there. */
  by: Route | null;
}

/** Decisions of a step; tasks that were given together, one by one. */
export function decisionsOf({ decision }: Pick<Step, 'decision'>): Decision[] {
  const list = Array.isArray(decision) ? (decision as unknown as (Decision & { tasks?: Decision[] })[]) : [];
  return list.flatMap((one) => (one.type === 'TASK_GROUP' ? (one.tasks ?? []) : [one]));
}

export function pathOf(steps: readonly Step[], first: string | null): Path {
  const agents = new Set<string>(first === null ? [] : [first]);
  const routes = new Map<string, Route>();
  let at = first;
  let by: Route | null = null;
  for (const step of steps) {
    if (step.agentKey === null) continue;
    at = step.agentKey;
    agents.add(at);
    for (const { type, agent, status } of decisionsOf(step)) {
      if (status !== 'ok' || agent === undefined) continue;
      const route: Route = [at, agent];
      routes.set(route.join(' '), route);
      agents.add(agent);
      if (type === 'ROUTE_TO_AGENT') {
        by = route;
        at = agent;
      }
    }
  }
  return { agents: [...agents], routes: [...routes.values()], at, by };
}

export const isEnd = (status: string): boolean => ['completed', 'failed', 'canceled'].includes(status);
