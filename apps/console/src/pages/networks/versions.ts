import { queryOptions } from '@tanstack/react-query';
import { networkDefinition } from '@troupe/protocol';
import { troupe } from '../../data/client.ts';
import type { Definition } from './draft/definition.ts';

// A version never changes: it is asked for once. Its key has another noun, so that what is live leaves it alone.

/** What a version was made of. */
export const versionQuery = (network: string, version: number) =>
  queryOptions({
    queryKey: ['network-versions', network, version, 'definition'],
    queryFn: async (): Promise<Definition> => {
      const { definition } = await troupe.networks.export({ params: { network, version } });
      // One that was published before a field was known has it as it is now where it is left out.
      return networkDefinition.parse(definition);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
