import { useQuery } from '@tanstack/react-query';
import { AuthenticationError } from '@troupe/sdk';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '../blocks/button.tsx';
import { Checkbox, TextField } from '../blocks/field.tsx';
import { Failure, Loading, Notice } from '../blocks/states.tsx';
import { storedKey, storeKey } from '../data/client.ts';
import { systemQuery } from './system.ts';

/** Lets nobody in before the server knows who is asking: a page without its key would show nothing but refusals. */
export function Gate({ children }: { children: ReactNode }) {
  const system = useQuery({
    ...systemQuery,
    retry: (_, error) => !(error instanceof AuthenticationError),
    retryDelay: 1_000,
  });
  if (system.error instanceof AuthenticationError) return <AskForKey refused={storedKey() !== null} />;
  if (system.data) return children;
  if (system.error)
    return <Failure error={system.error} retry={() => void system.refetch()} className="h-full" />;
  return <Loading label="Looking for the server…" className="h-full" />;
}

function AskForKey({ refused }: { refused: boolean }) {
  const [key, setKey] = useState('');
  const [token, setToken] = useState('');
  const [remember, setRemember] = useState(false);
  const isPublic = key.trim().startsWith('tpk_');
  const enter = (event: FormEvent) => {
    event.preventDefault();
    storeKey(key.trim(), remember, isPublic ? token.trim() : null);
    window.location.reload();
  };
  return (
    <main className="grid h-full place-items-center p-4">
      <form
        onSubmit={enter}
        className="flex w-full max-w-sm flex-col gap-4 rounded-lg border border-line bg-surface p-6 shadow-high"
      >
        <div className="flex items-center gap-2 text-lg font-semibold">
          <img src="/icon.svg" alt="" width={26} height={26} /> Troupe
        </div>
        <p className="text-sm text-muted">
          This server asks for a key. Enter a secret key of your project, or a public one and the token of a
          person; whoever runs the server makes the first one with{' '}
          <code className="font-mono text-xs">TROUPE_BOOTSTRAP_KEY</code>.
        </p>
        {refused && (
          <Notice tone="bad">
            The key that this browser has is refused. It may be revoked or expired, or the token with it.
          </Notice>
        )}
        <TextField
          label={isPublic ? 'Public key' : 'Secret key'}
          type="password"
          autoComplete="off"
          required
          placeholder="tsk_…"
          value={key}
          onChange={setKey}
        />
        {isPublic && (
          <TextField
            label="Token of the person"
            hint="A JWT that your server issues to its users."
            type="password"
            autoComplete="off"
            required
            placeholder="eyJ…"
            value={token}
            onChange={setToken}
          />
        )}
        <Checkbox
          label={isPublic ? 'Remember the key in this browser' : 'Remember it in this browser'}
          checked={remember}
          onChange={setRemember}
        />
        <Button type="submit" kind="primary">
          Enter
        </Button>
      </form>
    </main>
  );
}
