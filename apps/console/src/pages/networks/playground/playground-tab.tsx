import type { Api } from '@troupe/sdk';
import { FlaskConical } from 'lucide-react';
import { useRef, useState } from 'react';
import { cx } from '../../../blocks/cx.ts';
import { Empty } from '../../../blocks/states.tsx';
import type { Draft } from '../draft/use-draft.ts';
import type { GoTo } from '../network.tsx';
import type { NetworkSearch } from '../search.ts';
import { DraftTrial } from './draft-trial.tsx';
import { EarlierRuns } from './earlier-runs.tsx';
import { RunForm } from './run-form.tsx';
import { RunView } from './run-view.tsx';
import { WayGraph } from './way-graph.tsx';

type Mode = 'published' | 'draft';

/** Give it an input, and watch the way that it takes. */
export default function PlaygroundTab({
  network,
  draft,
  search,
  go,
}: {
  network: Api.Network;
  draft: Draft;
  search: NetworkSearch;
  go: GoTo;
}) {
  const [mode, setMode] = useState<Mode>(network.currentVersion === null ? 'draft' : 'published');
  const shown = useRef<HTMLDivElement>(null);
  const modes: { mode: Mode; label: string; isDisabled: boolean }[] = [
    { mode: 'published', label: 'Run what is published', isDisabled: network.currentVersion === null },
    { mode: 'draft', label: 'Ask the draft', isDisabled: false },
  ];
  return (
    <div className="flex h-full min-h-0 flex-col overflow-y-auto lg:flex-row lg:overflow-hidden">
      <aside
        aria-label="What to run"
        className="flex w-full shrink-0 flex-col gap-4 border-b border-line bg-surface p-4 lg:w-96 lg:overflow-y-auto lg:border-r lg:border-b-0"
      >
        <fieldset className="flex self-start rounded-md border border-line p-0.5">
          <legend className="sr-only">What is asked</legend>
          {modes.map((one) => (
            <button
              key={one.mode}
              type="button"
              aria-pressed={mode === one.mode}
              disabled={one.isDisabled}
              onClick={() => setMode(one.mode)}
              className={cx(
                'rounded-sm px-2.5 py-0.5 text-xs font-medium disabled:opacity-50',
                mode === one.mode ? 'bg-accent-soft text-accent-strong' : 'text-muted hover:text-text',
              )}
            >
              {one.label}
            </button>
          ))}
        </fieldset>
        {mode === 'published' && network.currentVersion !== null ? (
          <>
            <RunForm
              network={network}
              onStarted={(run) => {
                go({ run });
                // On a small screen it is below.
                shown.current?.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
              }}
            />
            <EarlierRuns network={network.id} current={search.run} onOpen={(run) => go({ run })} />
          </>
        ) : (
          <p className="text-sm text-muted">
            Without a model and without effect: what an agent would be told, and what the runtime would say to
            what it decides. To run it, publish it.
          </p>
        )}
      </aside>
      <div ref={shown} className="min-w-0 flex-1 lg:overflow-y-auto">
        {mode === 'draft' || network.currentVersion === null ? (
          <DraftTrial draft={draft} />
        ) : search.run ? (
          <RunView key={search.run} runId={search.run} network={network} />
        ) : (
          <div className="flex flex-col gap-4 p-4">
            <WayGraph network={network.id} version={network.currentVersion!} path={null} isOver />
            <Empty icon={FlaskConical} title="Nothing is shown yet" className="py-6">
              Write what is asked, and run it. Every hand-over, every tool call and every refusal shows up
              here as it happens.
            </Empty>
          </div>
        )}
      </div>
    </div>
  );
}
