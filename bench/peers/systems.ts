/** The systems that are compared, as data: loading this file loads none of them. */

export type Workload = 'W1' | 'W2' | 'W3' | 'W4' | 'W5';
export const WORKLOADS: Workload[] = ['W1', 'W2', 'W3', 'W4', 'W5'];

export interface System {
  name: string;
  variant: string;
  /** The adapter's path, without its extension. */
  adapter: string;
  /** A module that starts a program beside the worker. */
  service?: string;
  /** What is on disk before the next step begins. */
  durability: string;
  /** Every step is durable before the next begins, and a crash loses none: these are compared like for like. */
  durable: boolean;
  /** Part of a run without `--only`. */
  byDefault: boolean;
  workloads: Workload[];
  /** Packages of bench/peers/package.json that the adapter needs. */
  packages: string[];
  /** Sizes of the conversation in W2. */
  historySizes: number[];
}

const PEER_SIZES = [200, 1_000, 5_000];
const LONG_SIZES = [200, 5_000, 50_000];
const ALL: Workload[] = ['W1', 'W2', 'W3', 'W4'];
const WITHOUT_CRASH: Workload[] = ['W1', 'W2', 'W4'];

const floor = {
  name: 'floor',
  adapter: 'floor',
  durable: false,
  packages: [],
  historySizes: LONG_SIZES,
};
const langgraph = {
  name: 'langgraph',
  adapter: 'external/langgraph',
  packages: [
    '@langchain/langgraph',
    '@langchain/langgraph-checkpoint-postgres',
    '@langchain/core',
    'langchain',
  ],
  historySizes: PEER_SIZES,
};
const mastra = {
  name: 'mastra',
  adapter: 'external/mastra',
  packages: ['@mastra/core', '@mastra/pg', '@mastra/memory', 'ai', 'zod'],
  historySizes: PEER_SIZES,
};
const vercelWorkflow = {
  name: 'vercel-workflow',
  adapter: 'external/vercel-workflow',
  service: 'external/vercel-workflow-setup',
  durability: 'event log row per step event, committed before the next step is queued',
  durable: true,
  packages: ['workflow', '@workflow/world-postgres'],
  historySizes: PEER_SIZES,
};

export const SYSTEMS: System[] = [
  {
    name: 'troupe',
    variant: 'default',
    adapter: 'troupe',
    durability: 'one commit per model answer and per tool result, before the next begins',
    durable: false, // it is compared with the durable ones
    byDefault: true,
    workloads: WORKLOADS,
    packages: [],
    historySizes: LONG_SIZES,
  },
  {
    ...floor,
    variant: 'one-statement',
    durability: 'one statement, autocommitted, per step',
    byDefault: true,
    workloads: ALL,
  },
  {
    ...floor,
    variant: 'transaction',
    durability: 'one transaction of four statements per step',
    byDefault: false,
    workloads: ['W1'],
  },
  {
    name: 'dbos',
    variant: 'default',
    adapter: 'external/dbos',
    durability: 'one row per step output, committed before the next step',
    durable: true,
    byDefault: true,
    workloads: ALL,
    packages: ['@dbos-inc/dbos-sdk'],
    historySizes: PEER_SIZES,
  },
  {
    name: 'restate',
    variant: 'default',
    adapter: 'external/restate',
    service: 'external/restate-server',
    durability: 'journal entry per step, synced by restate-server before it is acknowledged',
    durable: true,
    byDefault: true,
    workloads: ALL,
    packages: ['@restatedev/restate-sdk', '@restatedev/restate-sdk-clients', '@restatedev/restate-server'],
    historySizes: PEER_SIZES,
  },
  {
    ...langgraph,
    variant: 'sync',
    durability: 'checkpoint per super-step, before the next',
    durable: true,
    byDefault: true,
    workloads: ALL,
  },
  {
    ...langgraph,
    variant: 'async',
    durability: 'checkpoint per super-step, while the next runs',
    durable: false,
    byDefault: false,
    workloads: ALL,
  },
  {
    ...langgraph,
    variant: 'exit',
    durability: 'checkpoint at the end of a run',
    durable: false,
    byDefault: false,
    workloads: WITHOUT_CRASH,
  },
  {
    ...langgraph,
    variant: 'agent-sync',
    durability: "checkpoint per super-step, before the next; langchain's createAgent",
    durable: true,
    byDefault: false,
    workloads: ['W1', 'W4'],
  },
  {
    ...mastra,
    variant: 'durable',
    durability: 'workflow snapshot per step',
    durable: true,
    byDefault: true,
    workloads: ALL,
  },
  {
    ...mastra,
    variant: 'memory',
    durability: 'messages saved per step; no resume',
    durable: false,
    byDefault: false,
    workloads: WITHOUT_CRASH,
  },
  {
    ...mastra,
    variant: 'last10',
    durability: 'messages saved per step; the model sees the last 10',
    durable: false,
    byDefault: false,
    workloads: ['W2'],
  },
  { ...vercelWorkflow, variant: 'fastwait', byDefault: true, workloads: ALL },
  { ...vercelWorkflow, variant: 'default', byDefault: false, workloads: ['W1'] },
  {
    name: 'openai-agents',
    variant: 'default',
    adapter: 'external/openai-agents',
    durability: 'none',
    durable: false,
    byDefault: true,
    workloads: WITHOUT_CRASH,
    packages: ['@openai/agents', 'zod'],
    historySizes: PEER_SIZES,
  },
  {
    name: 'ai-sdk',
    variant: 'default',
    adapter: 'external/ai-sdk',
    durability: 'none',
    durable: false,
    byDefault: true,
    workloads: WITHOUT_CRASH,
    packages: ['ai', 'zod'],
    historySizes: PEER_SIZES,
  },
];

export function keyOf({ name, variant }: Pick<System, 'name' | 'variant'>): string {
  return variant === 'default' ? name : `${name}:${variant}`;
}

/** `dbos` selects the variant of a default run, `langgraph:async` that variant. */
export function selectSystems(only: string | undefined): System[] {
  if (only === undefined) return SYSTEMS.filter(({ byDefault }) => byDefault);
  return only.split(',').map((wanted) => {
    const found = SYSTEMS.find(
      (system) =>
        `${system.name}:${system.variant}` === wanted || (system.name === wanted && system.byDefault),
    );
    if (found) return found;
    const known = SYSTEMS.map(({ name, variant }) => `${name}:${variant}`).join(', ');
    throw new Error(`--only: unknown system "${wanted}". Known systems: ${known}.`);
  });
}
