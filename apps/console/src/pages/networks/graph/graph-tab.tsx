import { Redo2, TriangleAlert, Undo2, WandSparkles } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { Button, IconButton } from '../../../blocks/button.tsx';
import { cx } from '../../../blocks/cx.ts';
import { Loading, Notice } from '../../../blocks/states.tsx';
import { Conflict } from '../draft/conflict.tsx';
import { forgetPositions } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import type { useTrial } from '../draft/use-trial.ts';
import type { GoTo } from '../network.tsx';
import { type GraphView, type NetworkSearch, views } from '../search.ts';
import { ProblemList } from './problem-list.tsx';

const GraphEditor = lazy(() => import('./graph-editor.tsx'));
const ListEditor = lazy(() => import('./list-editor.tsx'));
const TextEditor = lazy(() => import('./text-editor.tsx'));

export interface EditorProps {
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
  search: NetworkSearch;
  go: GoTo;
}

const labels: Record<GraphView, string> = { graph: 'Graph', list: 'List', text: 'Text' };

/** One draft, shown in three ways: drawn, as forms, as text. */
export default function GraphTab(props: EditorProps) {
  const { draft, checked, search, go } = props;
  // A canvas is of little use on a phone.
  const view = search.view ?? (window.matchMedia('(max-width: 640px)').matches ? 'list' : 'graph');
  useUndoKeys(draft);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line bg-surface px-4 py-2 md:px-6">
        <fieldset className="flex rounded-md border border-line p-0.5">
          <legend className="sr-only">Shown as</legend>
          {views.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={view === one}
              onClick={() => go({ view: one })}
              className={cx(
                'rounded-sm px-2.5 py-0.5 text-xs font-medium',
                view === one ? 'bg-accent-soft text-accent-strong' : 'text-muted hover:text-text',
              )}
            >
              {labels[one]}
            </button>
          ))}
        </fieldset>
        <IconButton
          label="Undo"
          title="Undo (Ctrl+Z)"
          disabled={!draft.canUndo}
          icon={Undo2}
          onClick={draft.undo}
        />
        <IconButton
          label="Redo"
          title="Redo (Ctrl+Shift+Z)"
          disabled={!draft.canRedo}
          icon={Redo2}
          onClick={draft.redo}
        />
        {view === 'graph' && (
          <Button
            kind="quiet"
            size="small"
            icon={WandSparkles}
            disabled={draft.isFixed}
            onClick={() => draft.edit(forgetPositions)}
          >
            Lay out
          </Button>
        )}
        {draft.isChanged && (
          <Button kind="quiet" size="small" onClick={draft.discard}>
            Discard changes
          </Button>
        )}
        <Problems {...props} />
      </div>
      {draft.isFixed && (
        <Notice tone="warn" className="m-3">
          The network is archived: it is shown, and cannot be changed.
        </Notice>
      )}
      {draft.theirs && (
        <div className="max-h-[50%] overflow-y-auto border-b border-line p-4">
          <Conflict draft={draft} theirs={draft.theirs} />
        </div>
      )}
      <div className="min-h-0 flex-1">
        <Suspense fallback={<Loading />}>
          {view === 'graph' && <GraphEditor {...props} />}
          {view === 'list' && <ListEditor {...props} />}
          {view === 'text' && <TextEditor draft={draft} checked={checked} />}
        </Suspense>
      </div>
    </div>
  );
}

function Problems({ draft, checked: { trial, isCurrent }, go }: EditorProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const { problems } = trial;
  if (problems.length === 0)
    return <output className="ml-auto text-xs text-muted">{isCurrent ? 'No problems' : 'Checking…'}</output>;
  return (
    <details ref={details} className="relative ml-auto">
      <summary className="inline-flex h-7 list-none items-center gap-1.5 rounded-md bg-bad-soft px-2 text-xs font-medium text-bad">
        <TriangleAlert size={14} aria-hidden="true" />
        {problems.length} {problems.length === 1 ? 'problem' : 'problems'}
      </summary>
      <div className="absolute top-full right-0 z-30 mt-1 max-h-80 w-96 max-w-[calc(100vw-2rem)] overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-high">
        <ProblemList
          problems={problems}
          definition={draft.definition}
          onJump={(agent) => {
            details.current?.removeAttribute('open');
            if (agent) go({ agent });
          }}
        />
      </div>
    </details>
  );
}

/** Ctrl+Z and Ctrl+Shift+Z, but not where somebody writes: fields have an undo of their own. */
function useUndoKeys({ undo, redo }: Draft): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z') return;
      const target = event.target as HTMLElement | null;
      if (target?.closest('input, textarea, select, [contenteditable]')) return;
      event.preventDefault();
      if (event.shiftKey) redo();
      else undo();
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, [undo, redo]);
}
