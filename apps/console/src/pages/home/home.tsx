import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Page } from '../../blocks/page.tsx';
import { Loading } from '../../blocks/states.tsx';
import { useLive } from '../../data/live.ts';
import { useSettings } from '../../data/settings.ts';
import { FailedRuns, OpenRuns } from './run-lists.tsx';
import { overviewQuery, Stats } from './stats.tsx';
import { Tour } from './tour.tsx';
import { WaitingList } from './waiting-list.tsx';

const Plots = lazy(() => import('./plots.tsx'));

export function HomePage() {
  const { tourDone } = useSettings();
  useLive('runs');
  useLive('overview');
  const overview = useQuery(overviewQuery);
  return (
    <Page title="Home" about="What is running, what waits for you, and what fails.">
      <div className="flex flex-col gap-5">
        {!tourDone && <Tour />}
        <Stats overview={overview.data} error={overview.error} />
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
