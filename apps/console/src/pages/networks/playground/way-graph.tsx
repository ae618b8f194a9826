import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { cx } from '../../../blocks/cx.ts';
import { Loading } from '../../../blocks/states.tsx';
import { positionsOf } from '../draft/definition.ts';
import { versionQuery } from '../versions.ts';
import type { Path } from './path.ts';

/** With more agents, what is written in their boxes cannot be read where all are in sight. */
const LARGE = 12;

const NetworkGraph = lazy(async () => ({ default: (await import('@troupe/ui/graph')).NetworkGraph }));

/** A version of the network, with the way that a run took through it lit. */
export function WayGraph({
  network,
  version,
  path,
  isOver,
}: {
  network: string;
  version: number;
  /** Null: nothing has run. */
  path: Path | null;
  isOver: boolean;
}) {
  const { data: definition } = useQuery(versionQuery(network, version));
  const positions = useMemo(() => (definition ? positionsOf(definition) : {}), [definition]);
  const isLarge = (definition?.agents.length ?? 0) > LARGE;
  const at = isOver ? null : (path?.at ?? null);
  return (
    <div
      className={cx(isLarge ? 'h-112' : 'h-80', 'overflow-hidden rounded-lg border border-line bg-ground')}
    >
      <Suspense fallback={<Loading />}>
        {definition && (
          <NetworkGraph
            className="h-full"
            label="The way of the run"
            agents={definition.agents}
            positions={positions}
            inView={isLarge ? path?.agents : undefined}
            {...(at === null ? {} : { active: { agents: [at], routes: path?.by ? [path.by] : [] } })}
            {...(path ? { visited: { agents: path.agents, routes: path.routes } } : {})}
          />
        )}
      </Suspense>
    </div>
  );
}
