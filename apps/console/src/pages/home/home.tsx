import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { useLive } from '../../data/live.ts';
import { useSettings } from '../../data/settings.ts';
import { systemQuery } from '../../shell/system.ts';
import { FailedRuns, OpenRuns } from './run-lists.tsx';
import { overviewQuery, Stats } from './stats.tsx';
import { Tour } from './tour.tsx';
import { WaitingList } from './waiting-list.tsx';

const Plots = lazy(() => import('./plots.tsx'));

export function HomePage() {
  const { tourDone } = useSettings();
  useLive('runs');
  useLive('overview');
  const { data: system } = useQuery(systemQuery);
  const isPerson = system?.caller.kind === 'user';
  const overview = useQuery({ ...overviewQuery, enabled: !isPerson });
  const about = 'What is running, what waits for you, and what fails.';
  // A person sees what is theirs; the whole is for whoever has a key.
  if (isPerson)
    return (
      <Page title="Home" about="What waits for you.">
        <WaitingList />
      </Page>
    );
  // What is refused here is refused for all that is below.
  if (overview.error && !overview.data)
    return (
      <Page title="Home" about={about}>
        <Failure error={overview.error} retry={() => void overview.refetch()} />
      </Page>
    );
  return (
    <Page title="Home" about={about}>
      <div className="flex flex-col gap-5">
        {/* It makes agents and starts them: more than a key with few scopes may do. */}
        {!tourDone && system?.caller.scopes === null && <Tour />}
        <Stats overview={overview.data} />
        <Suspense fallback={<Loading />}>
          <Plots />
        </Suspense>
        <div className="grid gap-5 xl:grid-cols-3">
          <OpenRuns />
          <WaitingList />
          <FailedRuns />
        </div>
      </div>
    </Page>
  );
}
