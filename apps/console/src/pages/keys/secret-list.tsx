import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Lock, Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm, Dialog } from '../../blocks/dialog.tsx';
import { Field, Input } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded, Notice } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { say } from '../../blocks/toast.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { useLive } from '../../data/live.ts';
import { secretsQuery } from '../../data/secrets.ts';

/** Secrets by their names. What they hold is never shown. */
export function SecretList() {
  const [set, setSet] = useState<string | null>(null);
  const [gone, setGone] = useState<string | null>(null);
  const client = useQueryClient();
  useLive('secrets');
  const query = useQuery(secretsQuery);
  const add = (
    <Button kind="primary" icon={<Plus size={14} aria-hidden="true" />} onClick={() => setSet('')}>
      New secret
    </Button>
  );
  return (
    <div className="flex flex-col gap-4">
      <div className="flex justify-end">{add}</div>
      <Card flush>
        <Loaded query={query}>
          {(secrets) =>
            secrets.length === 0 ? (
              <Empty icon={<Lock size={20} aria-hidden="true" />} title="No secrets yet" action={add}>
                Tools, MCP servers and webhooks name a secret as{' '}
                <code className="font-mono text-xs">{'{{secrets.NAME}}'}</code>. It is encrypted, read for the
                call that names it, and hidden in all that comes back.
              </Empty>
            ) : (
              <Table
                label="Secrets"
                head={
                  <>
                    <Th>Name</Th>
                    <Th>Set</Th>
                    <Th>
                      <span className="sr-only">Actions</span>
                    </Th>
                  </>
                }
              >
                {secrets.map(({ name, updatedAt }) => (
                  <Tr key={name}>
                    <Td className="max-w-80 truncate font-mono text-xs" title={name}>
                      {name}
                    </Td>
                    <Td label="Set" className="text-muted">
                      <When value={updatedAt} />
                    </Td>
                    <Td className="w-px whitespace-nowrap">
                      <Button
                        size="small"
                        kind="quiet"
                        aria-label={`Replace ${name}`}
                        onClick={() => setSet(name)}
                      >
                        Replace
                      </Button>
                      <Button
                        size="small"
                        kind="quiet"
                        aria-label={`Delete ${name}`}
                        onClick={() => setGone(name)}
                      >
                        Delete
                      </Button>
                    </Td>
                  </Tr>
                ))}
              </Table>
            )
          }
        </Loaded>
      </Card>
      {set !== null && <SetSecret name={set} onClose={() => setSet(null)} />}
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={`Delete ${gone}?`}
        label="Delete"
        act={async () => {
          await troupe.access.deleteSecret({ params: { name: gone! } });
          await client.invalidateQueries({ queryKey: ['secrets'] });
        }}
      >
        Calls that name it fail until it is set again.
      </Confirm>
    </div>
  );
}

function SetSecret({ name: given, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(given);
  const [value, setValue] = useState('');
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => troupe.access.putSecret({ params: { name: name.trim() }, body: { value } }),
    onSuccess: async ({ name }) => {
      say(`${name} is set.`);
      await client.invalidateQueries({ queryKey: ['secrets'] });
      onClose();
    },
  });
  const rest = restOf(save.error, ['name', 'value']);
  return (
    <Dialog open onClose={onClose} title={given ? `Replace ${given}` : 'New secret'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {!given && (
          <Field
            label="Name"
            hint="Letters, digits, _, - and dots. One that is there is replaced."
            error={issueAt(save.error, 'name')}
          >
            {(ids) => (
              <Input
                {...ids}
                required
                maxLength={100}
                pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
                placeholder="WEATHER_KEY"
                value={name}
                onChange={({ target }) => setName(target.value)}
                className="font-mono text-xs"
              />
            )}
          </Field>
        )}
        <Field label="Value" hint="It is never shown again." error={issueAt(save.error, 'value')}>
          {(ids) => (
            <Input
              {...ids}
              type="password"
              autoComplete="off"
              required
              value={value}
              onChange={({ target }) => setValue(target.value)}
            />
          )}
        </Field>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            Set it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
