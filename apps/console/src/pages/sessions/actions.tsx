import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Ellipsis, GitFork, Pencil, RotateCcw, Square, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { EditSession } from './edit-session.tsx';
import { ForkSession } from './fork-session.tsx';

type Asked = 'edit' | 'fork' | 'delete' | null;

export function SessionActions({ session }: { session: Api.Session }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Asked>(null);
  const held = troupe.session(session.agentId, session.id);
  const after = () => client.invalidateQueries({ queryKey: ['sessions'] });
  const stop = useMutation({
    mutationFn: () => held.cancel(),
    onSuccess: () => say('Stopped.'),
    onError: sayError,
    onSettled: after,
  });
  const retry = useMutation({
    mutationFn: () => held.retry(),
    onSuccess: () => say('Taken up again.'),
    onError: sayError,
    onSettled: after,
  });
  const isAtWork = session.status === 'running' || session.status === 'waiting';
  return (
    <>
      {isAtWork && (
        <Button busy={stop.isPending} icon={Square} onClick={() => stop.mutate()}>
          Stop all
        </Button>
      )}
      {session.status === 'failed' && (
        <Button busy={retry.isPending} icon={RotateCcw} onClick={() => retry.mutate()}>
          Retry
        </Button>
      )}
      <Menu trigger={<Button size="icon" aria-label="More" icon={Ellipsis} />}>
        <MenuItem icon={Pencil} onSelect={() => setAsked('edit')}>
          Rename and settings
        </MenuItem>
        <MenuItem icon={GitFork} onSelect={() => setAsked('fork')}>
          Fork
        </MenuItem>
        <MenuItem danger icon={Trash2} onSelect={() => setAsked('delete')}>
          Delete
        </MenuItem>
      </Menu>
      {asked === 'edit' && <EditSession session={session} onClose={() => setAsked(null)} />}
      {asked === 'fork' && <ForkSession session={session} onClose={() => setAsked(null)} />}
      <Confirm
        open={asked === 'delete'}
        onClose={() => setAsked(null)}
        title="Delete this session?"
        label="Delete session"
        act={async () => {
          await held.delete();
          void navigate({ to: '/sessions' });
          say('The session is deleted.');
          client.removeQueries({ queryKey: ['sessions', 'one', session.id] });
          void after();
        }}
      >
        This deletes its messages, files, events and runs, and cancels runs in progress. It cannot be undone.
      </Confirm>
    </>
  );
}
