import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Users } from 'lucide-react';
import { AddButton } from '../../blocks/button.tsx';
import { Checkbox } from '../../blocks/field.tsx';
import { TableList } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { spaceAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { useMe } from '../../data/me.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { systemQuery } from '../../shell/system.ts';
import { NewSpace } from './new-space.tsx';
import { WhoAmI } from './who-am-i.tsx';
import { policyWords } from './words.ts';

export function SpacesPage() {
  const search = useSearch({ from: '/spaces' });
  const navigate = useNavigate({ from: '/spaces' });
  const { data: system } = useQuery(systemQuery);
  const me = useMe();
  useLive('spaces');
  const entityId = search.of === 'me' && me.canSwitch ? me.entityId : null;
  const list = useCursorPages(['spaces', 'list', entityId], (page) =>
    troupe.spaces.list({ query: { ...page, ...(entityId ? { entityId } : {}) } }),
  );
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  const canMake = system?.caller.kind !== 'user';
  const newButton = canMake && <AddButton onClick={() => change({ new: 'space' })}>Create space</AddButton>;
  return (
    <Page
      title="Spaces"
      about="Many people and many agents in one conversation."
      actions={
        <>
          <WhoAmI />
          {newButton}
        </>
      }
    >
      {me.canSwitch && me.entityId && (
        <Checkbox
          className="mb-4"
          label="Only my spaces"
          checked={search.of === 'me'}
          onChange={(checked) => change({ of: checked ? 'me' : undefined })}
        />
      )}
      <TableList
        list={list}
        empty={
          <Empty icon={Users} title="No spaces yet" action={newButton}>
            In a space, people and agents share one conversation. Its policy decides which agents a message
            starts.
          </Empty>
        }
        label="Spaces"
        keyOf={(space) => space.id}
        rowClass={() => 'relative'}
        columns={[
          {
            name: 'Name',
            className: 'w-full',
            cellClass: 'max-w-0',
            cell: (space) => (
              <>
                <Link
                  to={spaceAddress(space.id)}
                  title={space.name ?? space.id}
                  className="block truncate rounded-sm font-medium after:absolute after:inset-0"
                >
                  {space.name ?? <span className="text-muted">Unnamed {shortId(space.id)}</span>}
                  {!!space.membership?.unread && (
                    <span className="ml-2 rounded-full bg-accent px-1.5 text-2xs text-on-accent">
                      {space.membership.unread} new
                    </span>
                  )}
                </Link>
                {space.description && (
                  <span className="block truncate text-xs text-faint" title={space.description}>
                    {space.description}
                  </span>
                )}
              </>
            ),
          },
          {
            name: 'Members',
            isRight: true,
            isPlain: true,
            className: 'max-md:hidden',
            cell: (space) => space.memberCount,
          },
          {
            name: 'Messages',
            isRight: true,
            isPlain: true,
            className: 'max-md:hidden',
            cell: (space) => space.lastSequence,
          },
          {
            name: 'A message starts',
            isPlain: true,
            className: 'max-md:hidden',
            cellClass: 'whitespace-nowrap text-muted',
            cell: (space) => policyWords[space.policy].label,
          },
          { name: 'Last activity', isRight: true, isPlain: true, time: (space) => space.lastActivityAt },
        ]}
      />
      {search.new && <NewSpace onClose={() => change({ new: undefined })} />}
    </Page>
  );
}
