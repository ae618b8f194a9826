import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
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
  const make = (
    <Button kind="primary" icon={<Plus size={14} aria-hidden="true" />} onClick={() => setMakes(true)}>
      New key
    </Button>
  );
  return (
    <div className="flex flex-col gap-4">
      <div className="flex justify-end">{make}</div>
      <Card flush>
        {list.items === undefined ? (
          list.error ? (
            <Failure error={list.error} retry={list.refetch} />
          ) : (
            <Loading />
          )
        ) : list.items.length === 0 ? (
          <Empty icon={<KeyRound size={20} aria-hidden="true" />} title="No keys yet" action={make}>
            A program sends a key with each request. On this machine, in development, none is needed.
          </Empty>
        ) : (
          <>
            <Table
              label="Keys"
              head={
                <>
                  <Th>Name</Th>
                  <Th>Key</Th>
                  <Th>May</Th>
                  <Th>Last used</Th>
                  <Th>Expires</Th>
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                </>
              }
            >
              {list.items.map((key) => (
                <Tr key={key.id} className={key.revokedAt ? 'text-faint' : ''}>
                  <Td className="max-w-48 truncate font-medium @5xl:max-w-56" title={key.name}>
                    {key.name}
                  </Td>
                  <Td label="Key" className="whitespace-nowrap">
                    <code className="font-mono text-xs">{key.prefix}…</code> <Tag>{key.kind}</Tag>
                  </Td>
                  <Td label="May" className="max-w-60 @5xl:max-w-72">
                    {key.scopes.length === 0 ? (
                      <span className="text-muted">everything</span>
                    ) : (
                      <span className="line-clamp-2 text-xs" title={key.scopes.join(', ')}>
                        {key.scopes.join(', ')}
                      </span>
                    )}
                  </Td>
                  <Td label="Last used" className="text-muted">
                    <When value={key.lastUsedAt} />
                  </Td>
                  <Td label="Expires" className="text-muted">
                    {key.revokedAt ? (
                      <Tag tone="bad">revoked</Tag>
                    ) : key.expiresAt && Date.parse(key.expiresAt) < Date.now() ? (
                      <Tag tone="warn">expired</Tag>
                    ) : key.expiresAt ? (
                      <When value={key.expiresAt} exact />
                    ) : (
                      'never'
                    )}
                  </Td>
                  <Td className="w-px">
                    {!key.revokedAt && (
                      <Button
                        size="small"
                        kind="danger"
                        aria-label={`Revoke ${key.name}`}
                        onClick={() => setRevoked(key)}
                      >
                        Revoke
                      </Button>
                    )}
                  </Td>
                </Tr>
              ))}
            </Table>
            <MoreButton list={list} />
          </>
        )}
      </Card>
      {makes && <NewKey onClose={() => setMakes(false)} />}
      <Confirm
        open={revoked !== null}
        onClose={() => setRevoked(null)}
        title={`Revoke ${revoked?.name}?`}
        label="Revoke"
        act={async () => {
          await troupe.access.revokeKey({ params: { keyId: revoked!.id } });
          say(`${revoked!.name} is refused from now on.`);
          await client.invalidateQueries({ queryKey: ['keys'] });
        }}
      >
        Programs that use it are refused at once, for good.
      </Confirm>
    </div>
  );
}
