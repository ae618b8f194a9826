import { ArrowRight, Trash2, X } from 'lucide-react';
import { Button, IconButton } from '../../../blocks/button.tsx';
import { setRoute } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';

export function RoutePanel({
  draft,
  route: [from, to],
  onClose,
}: {
  draft: Draft;
  route: readonly [string, string];
  onClose: () => void;
}) {
  return (
    <div className="flex flex-col gap-3 p-4">
      <div className="flex items-center gap-2">
        <h2 className="min-w-0 flex-1 text-sm font-semibold">Route</h2>
        <IconButton label="Close the panel" icon={X} onClick={onClose} />
      </div>
      <p className="flex min-w-0 flex-wrap items-center gap-2 font-mono text-sm break-all">
        {from} <ArrowRight size={14} aria-label="to" /> {to}
      </p>
      <p className="text-sm text-muted">
        “{from}” may hand a run over to “{to}”.
      </p>
      {!draft.isFixed && (
        <Button
          kind="danger"
          icon={Trash2}
          className="self-start"
          onClick={() => {
            draft.edit((now) => setRoute(now, from, to, false));
            onClose();
          }}
        >
          Remove the route
        </Button>
      )}
    </div>
  );
}
