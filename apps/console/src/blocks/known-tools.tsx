import { useQuery } from '@tanstack/react-query';
import { ToolUi } from '@troupe/ui';
import type { ReactNode } from 'react';
import { troupe } from '../data/client.ts';

/** Below it calls are shown with the names and descriptions of their tools, and answered by forms made of their schemas. */
export function KnownTools({ children }: { children: ReactNode }) {
  const { data } = useQuery({
    queryKey: ['tools', 'definitions'],
    queryFn: async () => (await troupe.tools.list({ query: { limit: 200 } })).data,
    staleTime: 60_000,
  });
  return (
    <ToolUi tools={none} definitions={data}>
      {children}
    </ToolUi>
  );
}

const none = {};
