import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { AddButton, Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList, Toolbar } from '../../blocks/list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say } from '../../blocks/toast.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { NewKey } from './new-key.tsx';

export function KeyList() {
  const [makes, setMakes] = useState(false);
  const [revoked, setRevoked] = useState<Api.ApiKey | null>(null);
  const client = useQueryClient();
  useLive('keys');
  const list = useCursorPages(['keys', 'list'], (query) => troupe.access.listKeys({ query }));
  const make = <AddButton onClick={() => setMakes(true)}>Create key</AddButton>;
  return (
    <div className="flex flex-col gap-4">
      <Toolbar actions={make} />
      <TableList
        list={list}
        empty={
          <Empty icon={KeyRound} title="No keys yet" action={make}>
            A program sends a key with each request. In development, this machine needs none.
          </Empty>
        }
        label="Keys"
        keyOf={(key) => key.id}
        rowClass={(key) => (key.revokedAt ? 'text-faint' : '')}
        columns={[
          {
            name: 'Name',
            cellClass: 'max-w-48 truncate font-medium @5xl:max-w-56',
            title: (key) => key.name,
            cell: (key) => key.name,
          },
          {
            name: 'Key',
            cellClass: 'whitespace-nowrap',
            cell: (key) => (
              <>
                <code className="font-mono text-xs">{key.prefix}…</code> <Tag>{key.kind}</Tag>
              </>
            ),
          },
          {
            name: 'Scopes',
            cellClass: 'max-w-60 @5xl:max-w-72',
            cell: (key) =>
              key.scopes.length === 0 ? (
                <span className="text-muted">all</span>
              ) : (
                <span className="line-clamp-2 text-xs" title={key.scopes.join(', ')}>
                  {key.scopes.join(', ')}
                </span>
              ),
          },
          { name: 'Last used', time: (key) => key.lastUsedAt },
          {
            name: 'Expires',
            cellClass: 'text-muted',
            cell: (key) =>
              key.revokedAt ? (
                <Tag tone="bad">revoked</Tag>
              ) : key.expiresAt && Date.parse(key.expiresAt) < Date.now() ? (
                <Tag tone="warn">expired</Tag>
              ) : key.expiresAt ? (
                <When value={key.expiresAt} exact />
              ) : (
                'never'
              ),
          },
          {
            name: 'Actions',
            isAction: true,
            cell: (key) =>
              !key.revokedAt && (
                <Button
                  size="small"
                  kind="danger"
                  aria-label={`Revoke ${key.name}`}
                  onClick={() => setRevoked(key)}
                >
                  Revoke
                </Button>
              ),
          },
        ]}
      />
      {makes && <NewKey onClose={() => setMakes(false)} />}
      <Confirm
        open={revoked !== null}
        onClose={() => setRevoked(null)}
        title={`Revoke key ${revoked?.name}?`}
        label="Revoke key"
        act={async () => {
          await troupe.access.revokeKey({ params: { keyId: revoked!.id } });
          say(`${revoked!.name} is refused from now on.`);
          await client.invalidateQueries({ queryKey: ['keys'] });
        }}
      >
        Programs that use it lose access at once. This cannot be undone.
      </Confirm>
    </div>
  );
}
