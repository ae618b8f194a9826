import { given, oneIn, textIn } from '../../data/search-values.ts';

// What of these pages stands in the address, so that it can be shared and gone back to.

export const statuses = ['draft', 'published', 'archived'] as const;
export interface NetworksSearch {
  status?: (typeof statuses)[number];
  /** The form for a new one is open. */
  create?: 'yes';
}

export function parseNetworksSearch(search: Record<string, unknown>): NetworksSearch {
  return given({
    status: oneIn(search, 'status', statuses),
    create: oneIn(search, 'create', ['yes'] as const),
  });
}

export const tabs = ['graph', 'playground', 'versions', 'batches', 'runs', 'settings'] as const;
export type NetworkTab = (typeof tabs)[number];
export const views = ['graph', 'list', 'text'] as const;
export type GraphView = (typeof views)[number];
export const itemStatuses = ['queued', 'running', 'completed', 'failed', 'canceled', 'bad'] as const;

export interface NetworkSearch {
  tab?: NetworkTab;
  view?: GraphView;
  /** The agent that is selected in the graph. */
  agent?: string;
  /** The two versions that are compared. */
  from?: number;
  to?: number;
  /** The run that the playground shows. */
  run?: string;
  /** The batch that is shown, or `new`. */
  batch?: string;
  items?: (typeof itemStatuses)[number];
}

export function parseNetworkSearch(search: Record<string, unknown>): NetworkSearch {
  return given({
    tab: oneIn(search, 'tab', tabs),
    view: oneIn(search, 'view', views),
    agent: textIn(search, 'agent'),
    from: versionIn(search, 'from'),
    to: versionIn(search, 'to'),
    run: textIn(search, 'run'),
    batch: textIn(search, 'batch'),
    items: oneIn(search, 'items', itemStatuses),
  });
}

function versionIn(search: Record<string, unknown>, name: string): number | undefined {
  const value = Number(search[name]);
  return Number.isInteger(value) && value > 0 && value < 2 ** 31 ? value : undefined;
}
