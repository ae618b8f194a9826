import { queryOptions } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { troupe } from '../../../data/client.ts';
import type { SystemParam } from './system-params.tsx';

interface Snapshot {
  defaultAgent: string | null;
  agents: string[];
  systemParams: SystemParam[];
}

/** Of what a version was compiled to: what a form for running it needs. It never changes. */
export const snapshotQuery = (network: string, version: number) =>
  queryOptions({
    queryKey: ['network-versions', network, version, 'snapshot'],
    queryFn: async (): Promise<Snapshot> => {
      const { snapshot } = await troupe.networks.version({ params: { network, version } });
      const graph = snapshot.network as unknown as Api.NetworkGraph;
      const params = graph.tools.flatMap((tool) => tool.params).filter(({ source }) => source === 'system');
      const names = new Map<string, SystemParam>();
      for (const { name, required } of params)
        names.set(name, { name, isRequired: required || (names.get(name)?.isRequired ?? false) });
      return {
        defaultAgent: graph.defaultAgent,
        agents: graph.agents.map(({ key }) => key),
        systemParams: [...names.values()],
      };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
