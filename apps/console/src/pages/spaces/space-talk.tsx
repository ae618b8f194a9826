import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Space } from '@troupe/ui';
import { Button } from '../../blocks/button.tsx';
import { KnownTools } from '../../blocks/known-tools.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import type { Me } from '../../data/me.ts';
import { nameOfEntity } from '../../data/names.ts';
import { membersQuery } from './queries.ts';

/** The conversation, for whom one is; somebody who is no member can read it and join. */
export default function SpaceTalk({
  space,
  me,
  goTo,
}: {
  space: Api.Space;
  me: Me;
  goTo: { messageId: string } | null;
}) {
  const { data: members } = useQuery(membersQuery(space.id));
  const client = useQueryClient();
  const join = useMutation({
    mutationFn: () => troupe.space(space.id).addMember({ entityId: me.entityId!, role: 'admin' }),
    onError: sayError,
    onSettled: () => client.invalidateQueries({ queryKey: ['spaces'] }),
  });
  const isMember = members?.some(({ entityId }) => entityId === me.entityId) ?? true;
  const name = me.person ? nameOfEntity(me.person) : 'You';
  const reason =
    me.entityId === null
      ? 'Choose above who you are, to speak here.'
      : isMember
        ? null
        : `${name} is not in this space.`;
  const agent = members?.find(({ type }) => type === 'agent');
  return (
    <KnownTools>
      <div className="flex h-full min-h-0 flex-col">
        {me.entityId !== null && !isMember && (
          <div
            role="status"
            className="flex flex-wrap items-center gap-2 border-b border-line bg-info-soft px-4 py-1.5 text-sm text-info"
          >
            <span className="min-w-0 truncate">{reason}</span>
            {me.canSwitch && (
              <Button size="small" busy={join.isPending} onClick={() => join.mutate()}>
                Join as {name}
              </Button>
            )}
          </div>
        )}
        <Space
          spaceId={space.id}
          as={me.canSwitch && isMember ? (me.entityId ?? undefined) : undefined}
          header={null}
          suggestions={agent ? ['What are you?', `@${agent.name} how much is 2+2?`] : undefined}
          disabledReason={reason}
          goTo={goTo}
          className="min-h-0 flex-1"
        />
      </div>
    </KnownTools>
  );
}
