import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Time } from '@troupe/ui';
import { Plus, Users } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { Checkbox } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
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
  const newButton = canMake && (
    <Button
      kind="primary"
      icon={<Plus size={16} aria-hidden="true" />}
      onClick={() => change({ new: 'space' })}
    >
      New space
    </Button>
  );
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
          label="Only those I am in"
          checked={search.of === 'me'}
          onChange={({ target }) => change({ of: target.checked ? 'me' : undefined })}
        />
      )}
      {list.items ? (
        <Card flush>
          {list.items.length === 0 ? (
            <Empty icon={<Users size={20} aria-hidden="true" />} title="No spaces yet" action={newButton}>
              In a space people and agents talk with one another. Which agents a message starts is up to the
              space; limits keep them from talking for ever.
            </Empty>
          ) : (
            <Table
              label="Spaces"
              head={
                <>
                  <Th className="w-full">Name</Th>
                  <Th className="text-right max-md:hidden">Members</Th>
                  <Th className="text-right max-md:hidden">Messages</Th>
                  <Th className="max-md:hidden">A message starts</Th>
                  <Th className="text-right">Last activity</Th>
                </>
              }
            >
              {list.items.map((space) => (
                <Tr key={space.id} className="relative">
                  <Td className="max-w-0">
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
                  </Td>
                  <Td className="text-right tabular-nums max-md:hidden">{space.memberCount}</Td>
                  <Td className="text-right tabular-nums max-md:hidden">{space.lastSequence}</Td>
                  <Td className="whitespace-nowrap text-muted max-md:hidden">
                    {policyWords[space.policy].label}
                  </Td>
                  <Td className="text-right whitespace-nowrap text-muted">
                    <Time value={space.lastActivityAt} />
                  </Td>
                </Tr>
              ))}
            </Table>
          )}
          <MoreButton list={list} />
        </Card>
      ) : list.error ? (
        <Failure error={list.error} retry={list.refetch} />
      ) : (
        <Loading />
      )}
      {search.new && <NewSpace onClose={() => change({ new: undefined })} />}
    </Page>
  );
}
