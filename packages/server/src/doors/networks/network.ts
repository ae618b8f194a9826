import {
  type AgentSnapshot,
  type NetworkGraph,
  type NetworkPolicy,
  type NetworkSnapshot,
  networkPolicy,
  type SnapshotParam,
  type SnapshotTool,
  snapshotParam,
} from '@troupe/protocol';

export type NetworkAgentNode = NetworkGraph['agents'][number];
export type NetworkToolNode = NetworkGraph['tools'][number];

/** A compiled network, to be asked by key: whatever its size, a step looks nothing up by searching. */
export interface Network {
  snapshot: NetworkSnapshot;
  graph: NetworkGraph;
  policy: NetworkPolicy;
  agent(key: string): NetworkAgentNode | undefined;
  tool(key: string): NetworkToolNode | undefined;
  /** The same as the kernel executes it. */
  executed(key: string): SnapshotTool | undefined;
  /** Whether this agent may call this tool, or hand over to that agent. */
  isEquipped(agent: NetworkAgentNode, tool: string): boolean;
  isRoute(agent: NetworkAgentNode, to: string): boolean;
}

// Snapshots never change, and the kernel keeps those that it uses: what was made of one is kept as long.
const made = new WeakMap<object, Network>();

/** For the kernel a network is as an agent; its door knows better. */
export function networkOf(snapshot: AgentSnapshot | NetworkSnapshot): Network {
  const known = made.get(snapshot);
  if (known) return known;
  const compiled = snapshot as NetworkSnapshot;
  if (compiled.kind !== 'network') throw new Error(`the snapshot of "${snapshot.name}" is of no network`);
  const network = indexed(compiled);
  made.set(snapshot, network);
  return network;
}

const DEFAULTS = networkPolicy.parse({});

/** A version may have been published before a limit was known. */
export function policyOf(given: NetworkGraph['policy']): NetworkPolicy {
  return { ...DEFAULTS, ...given } as NetworkPolicy;
}

/** Keys are the same whatever the case. */
const fold = (key: string) => key.toLowerCase();

/** A version may have been published when `defaultValue` had another name. */
function readParam(param: SnapshotParam): SnapshotParam {
  return 'default' in param ? snapshotParam.parse(param) : param;
}

function indexed(snapshot: NetworkSnapshot): Network {
  const { network: graph } = snapshot;
  const agents = new Map(graph.agents.map((agent) => [fold(agent.key), agent]));
  const tools = new Map(
    graph.tools.map((tool) => [fold(tool.key), { ...tool, params: tool.params.map(readParam) }]),
  );
  const executed = new Map(snapshot.tools.map((tool) => [fold(tool.name), tool]));
  const sets = new WeakMap<readonly string[], Set<string>>();
  const within = (list: readonly string[], key: string) => {
    let set = sets.get(list);
    if (!set) {
      set = new Set(list.map(fold));
      sets.set(list, set);
    }
    return set.has(fold(key));
  };
  return {
    snapshot,
    graph,
    policy: policyOf(graph.policy),
    agent: (key) => agents.get(fold(key)),
    tool: (key) => tools.get(fold(key)),
    executed: (key) => executed.get(fold(key)),
    isEquipped: (agent, key) => within(agent.equippedTools, key),
    isRoute: (agent, key) => within(agent.allowedRoutes, key),
  };
}
