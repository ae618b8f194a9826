import { useQuery } from '@tanstack/react-query';
import { Lock } from 'lucide-react';
import { useState } from 'react';
import { AddButton, Button } from '../../blocks/button.tsx';
import { TextField } from '../../blocks/field.tsx';
import { Confirm, FormDialog } from '../../blocks/form.tsx';
import { asList, TableList, Toolbar } from '../../blocks/list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import { secretsQuery } from '../../data/queries.ts';

/** Secrets by name. Their values are never shown. */
export function SecretList() {
  const [set, setSet] = useState<string | null>(null);
  const [gone, setGone] = useState<string | null>(null);
  useLive('secrets');
  const list = asList(useQuery(secretsQuery));
  const add = <AddButton onClick={() => setSet('')}>Add secret</AddButton>;
  return (
    <div className="flex flex-col gap-4">
      <Toolbar actions={add} />
      <TableList
        list={list}
        empty={
          <Empty icon={Lock} title="No secrets yet" action={add}>
            Tools, MCP servers and webhooks refer to a secret as{' '}
            <code className="font-mono text-xs">{'{{secrets.NAME}}'}</code>. It is stored encrypted and
            redacted in results.
          </Empty>
        }
        label="Secrets"
        keyOf={({ name }) => name}
        columns={[
          {
            name: 'Name',
            cellClass: 'max-w-80 truncate font-mono text-xs',
            title: ({ name }) => name,
            cell: ({ name }) => name,
          },
          { name: 'Set', time: ({ updatedAt }) => updatedAt },
          {
            name: 'Actions',
            isAction: true,
            cell: ({ name }) => (
              <>
                <Button size="small" kind="quiet" aria-label={`Replace ${name}`} onClick={() => setSet(name)}>
                  Replace
                </Button>
                <Button size="small" kind="quiet" aria-label={`Delete ${name}`} onClick={() => setGone(name)}>
                  Delete
                </Button>
              </>
            ),
          },
        ]}
      />
      {set !== null && <SetSecret name={set} onClose={() => setSet(null)} />}
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={`Delete secret ${gone}?`}
        label="Delete secret"
        changes="secrets"
        act={() => troupe.access.deleteSecret({ params: { name: gone! } })}
      >
        Calls that refer to it fail until it is added again.
      </Confirm>
    </div>
  );
}

function SetSecret({ name: given, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(given);
  const [value, setValue] = useState('');
  return (
    <FormDialog
      onClose={onClose}
      title={given ? `Replace secret ${given}` : 'Add secret'}
      submit="Save secret"
      act={() => troupe.access.putSecret({ params: { name: name.trim() }, body: { value } })}
      changes="secrets"
      onDone={({ name }) => {
        say(`Saved secret ${name}.`);
        onClose();
      }}
    >
      {!given && (
        <TextField
          label="Name"
          hint="Letters, digits, _, - and dots. An existing secret is replaced."
          path="name"
          required
          maxLength={100}
          pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
          placeholder="WEATHER_KEY"
          mono
          value={name}
          onChange={setName}
        />
      )}
      <TextField
        label="Value"
        hint="Encrypted. It is never shown again."
        path="value"
        type="password"
        autoComplete="off"
        required
        value={value}
        onChange={setValue}
      />
    </FormDialog>
  );
}
