export const AGENT_TABS = ['edit', 'preview', 'versions', 'memories', 'goals', 'plans'] as const;
