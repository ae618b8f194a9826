import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Avatar, Time } from '@troupe/ui';
import { Ellipsis, UserPlus } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { shortId } from '../../data/format.ts';
import type { Me } from '../../data/me.ts';
import { AddMembers } from './add-members.tsx';
import { membersQuery } from './queries.ts';

export function MembersPanel({ spaceId, me }: { spaceId: string; me: Me }) {
  const client = useQueryClient();
  const members = useQuery(membersQuery(spaceId));
  const [adds, setAdds] = useState(false);
  const [leaving, setLeaving] = useState<Api.Membership | null>(null);
  const after = () => client.invalidateQueries({ queryKey: ['spaces'] });
  const change = useMutation({
    mutationFn: (body: Parameters<ReturnType<typeof troupe.space>['addMember']>[0]) =>
      troupe.space(spaceId).addMember(body),
    onError: sayError,
    onSettled: after,
  });
  const addButton = (
    <Button size="small" icon={UserPlus} onClick={() => setAdds(true)}>
      Add
    </Button>
  );
  return (
    <Loaded query={members}>
      {(list) => (
        <>
          <div className="flex items-center justify-between gap-2 px-4 py-2">
            <p className="text-xs text-faint">{countsOf(list)}</p>
            {addButton}
          </div>
          {list.length === 0 && (
            <Empty title="Nobody is here">Add people to talk, and agents to answer them.</Empty>
          )}
          <ul aria-label="Members" className="divide-y divide-line border-t border-line">
            {list.map((member) => (
              <li key={member.entityId} className="flex items-center gap-2.5 px-4 py-2">
                <Avatar name={member.name} id={member.entityId} type={member.type} size="small" />
                <div className="min-w-0 flex-1">
                  <p className="truncate text-sm font-medium" title={nameOf(member)}>
                    {nameOf(member)}
                    {member.entityId === me.entityId && (
                      <span className="font-normal text-faint"> (you)</span>
                    )}
                  </p>
                  <p className="truncate text-xs text-faint">
                    {member.type === 'agent'
                      ? `agent, ${member.ordering === 'serial' ? 'one message at a time' : 'messages side by side'}`
                      : 'person'}
                    {member.role === 'admin' && ', admin'} · joined <Time value={member.joinedAt} />
                  </p>
                </div>
                <Menu trigger={<IconButton label={`Change ${nameOf(member)}`} icon={Ellipsis} />}>
                  <MenuItem
                    onSelect={() =>
                      change.mutate({
                        entityId: member.entityId,
                        ordering: member.ordering,
                        role: member.role === 'admin' ? 'member' : 'admin',
                      })
                    }
                  >
                    {member.role === 'admin' ? 'Make an ordinary member' : 'Make an admin'}
                  </MenuItem>
                  {member.type === 'agent' && (
                    <MenuItem
                      onSelect={() =>
                        change.mutate({
                          entityId: member.entityId,
                          role: member.role,
                          ordering: member.ordering === 'serial' ? 'parallel' : 'serial',
                        })
                      }
                    >
                      {member.ordering === 'serial' ? 'Answer side by side' : 'Answer one at a time'}
                    </MenuItem>
                  )}
                  <MenuItem danger onSelect={() => setLeaving(member)}>
                    Remove
                  </MenuItem>
                </Menu>
              </li>
            ))}
          </ul>
          {adds && <AddMembers spaceId={spaceId} members={list} onClose={() => setAdds(false)} />}
          <Confirm
            open={leaving !== null}
            onClose={() => setLeaving(null)}
            title={`Remove ${leaving ? nameOf(leaving) : ''}?`}
            label="Remove"
            changes="spaces"
            act={() => troupe.space(spaceId).removeMember(leaving!.entityId)}
          >
            What was said stays. Runs of an agent that speak here can do so no longer.
          </Confirm>
        </>
      )}
    </Loaded>
  );
}

const nameOf = ({ name, entityId }: Api.Membership) => name ?? shortId(entityId);

function countsOf(members: Api.Membership[]): string {
  const agents = members.filter(({ type }) => type === 'agent').length;
  const people = members.length - agents;
  return `${people === 1 ? '1 person' : `${people} people`}, ${agents === 1 ? '1 agent' : `${agents} agents`}`;
}
