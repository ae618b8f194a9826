import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { TroupeProvider } from '@troupe/react';
import { TimeProvider } from '@troupe/ui';
import { useMemo } from 'react';
import { troupe } from './data/client.ts';
import { queryClient } from './data/queries.ts';
import { useSettings } from './data/settings.ts';
import { router } from './router.tsx';
import { Gate } from './shell/gate.tsx';

/** What every page stands on: the client, who its reader is, and in which time zone he lives. */
export function App() {
  const { timeZone, entityId } = useSettings();
  const times = useMemo(() => ({ locale: 'en-GB', ...(timeZone ? { timeZone } : {}) }), [timeZone]);
  return (
    <QueryClientProvider client={queryClient}>
      <TroupeProvider client={troupe} entityId={entityId ?? undefined} keepUnsent>
        <TimeProvider value={times}>
          <Gate>
            <RouterProvider router={router} />
          </Gate>
        </TimeProvider>
      </TroupeProvider>
    </QueryClientProvider>
  );
}
