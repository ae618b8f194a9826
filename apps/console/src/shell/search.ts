import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../data/client.ts';

const FEW = 5;

/** Things that a few letters could mean, of all nouns at once. What one noun refuses does not keep the others away. */
export const foundQuery = (text: string) =>
  queryOptions({
    queryKey: ['found', text],
    queryFn: async ({ signal }) => {
      const options = { signal };
      const named = <Of>(items: Of[], nameOf: (item: Of) => string | null) =>
        items.filter((item) => nameOf(item)?.toLowerCase().includes(text.toLowerCase())).slice(0, FEW);
      const [agents, sessions, spaces, networks, tools, runs] = await Promise.all([
        orNone(troupe.agents.list({ query: { limit: FEW, ...(text ? { search: text } : {}) } }, options)),
        orNone(
          troupe.sessions.listAll({ query: { limit: FEW, ...(text ? { search: text } : {}) } }, options),
        ),
        orNone(troupe.spaces.list({ query: { limit: 100 } }, options)),
        orNone(troupe.networks.list({ query: { limit: 100 } }, options)),
        orNone(troupe.tools.list({ query: { limit: 100 } }, options)),
        text.length < 3 ? [] : orNone(troupe.runs.list({ query: { limit: FEW, search: text } }, options)),
      ]);
      return {
        agents,
        sessions,
        runs,
        spaces: named(spaces, ({ name }) => name),
        networks: named(networks, ({ name }) => name),
        tools: text ? named(tools, ({ name }) => name) : [],
      };
    },
    placeholderData: (before) => before,
    staleTime: 2_000,
  });

async function orNone<Item>(list: Promise<{ data: Item[] }>): Promise<Item[]> {
  try {
    return (await list).data;
  } catch {
    return [];
  }
}
