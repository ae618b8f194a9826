import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import type { ReactNode } from 'react';
import { type ListState, TableList } from '../../blocks/list.tsx';
import { agentAddress, sessionAddress } from '../../data/addresses.ts';
import { shortId } from '../../data/format.ts';
import { useAgentName } from '../../data/names.ts';

export function SessionTable({
  list,
  empty,
  onTag,
}: {
  list: ListState<Api.Session>;
  empty: ReactNode;
  onTag: (tag: string) => void;
}) {
  const nameOf = useAgentName();
  return (
    <TableList
      list={list}
      empty={empty}
      label="Sessions"
      keyOf={(session) => session.id}
      rowClass={() => 'relative'}
      columns={[
        {
          name: 'Title',
          className: 'w-full',
          cellClass: 'max-w-0',
          cell: (session) => (
            <>
              <Link
                to={sessionAddress(session.agentId, session.id)}
                title={session.title ?? session.id}
                // The whole row leads there; what else can be clicked lies above it.
                className="block truncate rounded-sm font-medium after:absolute after:inset-0"
              >
                {session.title ?? <span className="text-muted">Untitled {shortId(session.id)}</span>}
              </Link>
              <span className="flex min-w-0 items-center gap-1 text-xs text-faint">
                <span className="truncate md:hidden">{nameOf(session.agentId)}</span>
                <span className="shrink-0 md:hidden">
                  · <Time value={session.lastActivityAt} />
                </span>
                {session.tags.slice(0, 4).map((tag) => (
                  <button
                    key={tag}
                    type="button"
                    title={`Only those with the tag ${tag}`}
                    onClick={() => onTag(tag)}
                    // On a phone the agent and the time need the line.
                    className="relative max-w-32 truncate rounded-sm bg-sunken px-1.5 hover:bg-hover max-md:hidden"
                  >
                    {tag}
                  </button>
                ))}
                {session.error && (
                  <span className="truncate text-bad" title={session.error.message}>
                    {session.error.message}
                  </span>
                )}
              </span>
            </>
          ),
        },
        {
          name: 'Status',
          isPlain: true,
          cellClass: 'whitespace-nowrap',
          cell: (session) => (
            <StatusBadge status={session.status} label={session.status === 'pending' ? 'Ready' : undefined} />
          ),
        },
        {
          name: 'Agent',
          isPlain: true,
          className: 'max-md:hidden',
          cellClass: 'max-w-52',
          cell: (session) => (
            <Link
              to={agentAddress(session.agentId)}
              title={nameOf(session.agentId)}
              className="relative block truncate rounded-sm text-muted hover:text-text hover:underline"
            >
              {nameOf(session.agentId)}
            </Link>
          ),
        },
        {
          name: 'Last activity',
          isRight: true,
          isPlain: true,
          className: 'max-md:hidden',
          time: (session) => session.lastActivityAt,
        },
      ]}
    />
  );
}
