import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { StatusBadge, Time } from '@troupe/ui';
import { useDeferredValue, useState } from 'react';
import { Dialog } from '../../../blocks/dialog.tsx';
import { TextField } from '../../../blocks/field.tsx';
import { Empty, Loaded } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import { askedOf } from '../run-table.tsx';
import type { RunDetails } from './queries.ts';

/** Chooses the run to put beside this one: those of the same agent or network first. */
export default function CompareWith({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const [text, setText] = useState('');
  const search = useDeferredValue(text.trim());
  const same = run.networkId ? { networkId: run.networkId } : run.agentId ? { agentId: run.agentId } : {};
  const runs = useQuery({
    queryKey: ['runs', 'to-compare', run.id, search],
    queryFn: () => troupe.runs.list({ query: { limit: 30, ...(search ? { search } : same) } }),
    placeholderData: (before) => before,
  });
  return (
    <Dialog open onClose={onClose} title="Compare with another run" wide>
      <div className="flex flex-col gap-3">
        <TextField
          label="Find"
          hint="An id, an error code, or what was asked. Without it: the newest of the same agent or network."
          type="search"
          maxLength={200}
          value={text}
          onChange={setText}
        />
        <Loaded query={runs}>
          {({ data }) => {
            const others = data.filter(({ id }) => id !== run.id);
            if (others.length === 0) return <Empty title="No other run" />;
            return (
              <ul aria-label="Runs" className="divide-y divide-line rounded-md border border-line">
                {others.map((other) => (
                  <li key={other.id}>
                    <Link
                      to="/runs/compare"
                      search={{ a: run.id, b: other.id }}
                      className="flex items-center gap-3 px-3 py-2 text-sm hover:bg-hover"
                    >
                      <StatusBadge status={other.status} />
                      <span className="min-w-0 flex-1 truncate">{askedOf(other)}</span>
                      <span className="text-xs text-muted">
                        <Time value={other.createdAt} />
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            );
          }}
        </Loaded>
      </div>
    </Dialog>
  );
}
