import { useQuery } from '@tanstack/react-query';
import { ToolUi } from '@troupe/ui';
import type { ReactNode } from 'react';
import { toolsQuery } from '../data/queries.ts';

/** Below it calls are shown with the names and descriptions of their tools, and answered by forms made of their schemas. */
export function KnownTools({ children }: { children: ReactNode }) {
  const { data } = useQuery({ ...toolsQuery, staleTime: 60_000 });
  return (
    <ToolUi tools={none} definitions={data}>
      {children}
    </ToolUi>
  );
}

const none = {};
