import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { agentAddress, sessionAddress } from '../../data/addresses.ts';
import { shortId } from '../../data/format.ts';
import { useAgentName } from '../../data/names.ts';

export function SessionTable({
  list,
  onTag,
}: {
  list: { items: Api.Session[]; hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
  onTag: (tag: string) => void;
}) {
  const nameOf = useAgentName();
  return (
    <Card flush>
      <Table
        label="Sessions"
        head={
          <>
            <Th className="w-full">Title</Th>
            <Th>Status</Th>
            <Th className="max-md:hidden">Agent</Th>
            <Th className="text-right max-md:hidden">Last activity</Th>
          </>
        }
      >
        {list.items.map((session) => (
          <Tr key={session.id} className="relative">
            <Td className="max-w-0">
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
            </Td>
            <Td className="whitespace-nowrap">
              <StatusBadge
                status={session.status}
                label={session.status === 'pending' ? 'Ready' : undefined}
              />
            </Td>
            <Td className="max-w-52 max-md:hidden">
              <Link
                to={agentAddress(session.agentId)}
                title={nameOf(session.agentId)}
                className="relative block truncate rounded-sm text-muted hover:text-text hover:underline"
              >
                {nameOf(session.agentId)}
              </Link>
            </Td>
            <Td className="text-right whitespace-nowrap text-muted max-md:hidden">
              <Time value={session.lastActivityAt} />
            </Td>
          </Tr>
        ))}
      </Table>
      <MoreButton list={list} />
    </Card>
  );
}
