import { Link } from '@tanstack/react-router';
import { ArrowRight, ListTree, MessageSquare, Play, Users, Waypoints, X } from 'lucide-react';
import { lazy, type ReactNode, Suspense } from 'react';
import { Button, Spinner } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Notice } from '../../blocks/states.tsx';
import { changeSettings } from '../../data/settings.ts';
import { type DemoName, type Stage, startAll, startDemo, useTour } from './tour-store.ts';

const panels = {
  session: lazy(() => import('./panels.tsx').then(({ SessionPanel }) => ({ default: SessionPanel }))),
  space: lazy(() => import('./panels.tsx').then(({ SpacePanel }) => ({ default: SpacePanel }))),
  network: lazy(() => import('./panels.tsx').then(({ NetworkPanel }) => ({ default: NetworkPanel }))),
  tasks: lazy(() => import('./panels.tsx').then(({ TasksPanel }) => ({ default: TasksPanel }))),
};

/** Starts a real demo of each way of working in one click, and shows all four as they happen. */
export function Tour() {
  const tour = useTour();
  const begun = Object.values(tour).some(({ state }) => state !== 'idle');
  return (
    <section
      aria-labelledby="tour"
      className="overflow-hidden rounded-lg border border-line bg-surface shadow-low"
    >
      <header className="flex flex-wrap items-center gap-3 border-b border-line bg-accent-soft px-4 py-3">
        <div className="min-w-0 flex-1 basis-72">
          <h2 id="tour" className="font-semibold">
            See it work
          </h2>
          <p className="text-sm text-muted">
            Four ways of working, one durable loop. Each starts real runs here, and needs no key.
          </p>
        </div>
        <Button kind="primary" icon={Play} onClick={startAll}>
          {begun ? 'Start all again' : 'Start all four'}
        </Button>
        <Button
          kind="quiet"
          size="icon"
          aria-label="Close the tour"
          title="Close the tour; Settings brings it back"
          icon={X}
          onClick={() => changeSettings({ tourDone: true })}
        />
      </header>
      <div className="grid gap-px bg-line md:grid-cols-2 2xl:grid-cols-4">
        <Part
          name="session"
          icon={<MessageSquare size={16} />}
          title="A session"
          about="One person, one agent, answered as it is written"
          stage={tour.session}
        >
          {(demo) => ({
            body: <panels.session {...demo} />,
            to: `/sessions/${demo.agentId}/${demo.sessionId}`,
          })}
        </Part>
        <Part
          name="space"
          icon={<Users size={16} />}
          title="A space"
          about="Three agents talk with you and with each other"
          stage={tour.space}
        >
          {(demo) => ({ body: <panels.space {...demo} />, to: `/spaces/${demo.spaceId}` })}
        </Part>
        <Part
          name="network"
          icon={<Waypoints size={16} />}
          title="A network"
          about="A request takes the routes that are allowed"
          stage={tour.network}
        >
          {(demo) => ({ body: <panels.network {...demo} />, to: `/runs/${demo.runId}` })}
        </Part>
        <Part
          name="tasks"
          icon={<ListTree size={16} />}
          title="Sub-agents"
          about="An agent hands out work and gathers what comes of it"
          stage={tour.tasks}
        >
          {(demo) => ({
            body: <panels.tasks {...demo} />,
            to: `/sessions/${demo.agentId}/${demo.sessionId}`,
          })}
        </Part>
      </div>
    </section>
  );
}

function Part<Of>({
  name,
  icon,
  title,
  about,
  stage,
  children,
}: {
  name: DemoName;
  icon: ReactNode;
  title: string;
  about: string;
  stage: Stage<Of>;
  children: (demo: Of) => { body: ReactNode; to: string };
}) {
  const shown = stage.state === 'on' ? children(stage.demo) : null;
  return (
    <article
      aria-label={title}
      className={cx('flex min-w-0 flex-col bg-surface p-4', stage.state !== 'idle' && 'min-h-56')}
    >
      <header className="flex items-center gap-2">
        <span
          aria-hidden="true"
          className="grid size-7 shrink-0 place-items-center rounded-md bg-accent-soft text-accent-strong"
        >
          {icon}
        </span>
        <div className="min-w-0 flex-1">
          <h3 className="text-sm font-semibold">{title}</h3>
        </div>
        {stage.state === 'starting' && <Spinner className="text-muted" />}
        {shown && (
          <Link
            to={shown.to}
            className="inline-flex items-center gap-1 rounded-sm text-xs font-medium text-accent-strong hover:underline"
          >
            Open <span className="sr-only">{title}</span> <ArrowRight size={12} aria-hidden="true" />
          </Link>
        )}
      </header>
      <p className="mt-1 text-xs text-faint">{about}</p>
      <div className="mt-3 flex min-h-0 flex-1 flex-col">
        {stage.state === 'idle' && (
          <Button size="small" className="m-auto" icon={Play} onClick={() => void startDemo(name)}>
            Start <span className="sr-only">{title}</span>
          </Button>
        )}
        {stage.state === 'failed' && (
          <Notice tone="bad">
            {stage.error instanceof Error ? stage.error.message : 'It could not be started.'}
          </Notice>
        )}
        {shown && <Suspense>{shown.body}</Suspense>}
      </div>
    </article>
  );
}
