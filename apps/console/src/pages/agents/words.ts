export const AGENT_TABS = ['edit', 'preview', 'versions', 'memories', 'goals', 'plans'] as const;
export type AgentTab = (typeof AGENT_TABS)[number];
