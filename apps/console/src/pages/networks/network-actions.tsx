import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Archive, ArchiveRestore, Copy, Ellipsis, Rocket, Save, Trash2 } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import type { Draft } from './draft/use-draft.ts';
import type { useTrial } from './draft/use-trial.ts';
import type { GoTo } from './network.tsx';

const CopyNetwork = lazy(() => import('./copy-network.tsx'));
const SaveDialog = lazy(() => import('./draft/save-dialog.tsx'));
const PublishDialog = lazy(() => import('./publish-dialog.tsx'));

type Open = 'save' | 'publish' | 'copy' | 'delete' | 'archive' | null;

/** What can be done with the whole network, on every tab. */
export function NetworkActions({
  network,
  draft,
  checked,
  go,
}: {
  network: Api.Network;
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
  go: GoTo;
}) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const params = { network: network.id };
  const setArchived = async (archived: boolean) => {
    await troupe.networks.archive({ params, body: { archived } });
    await client.invalidateQueries({ queryKey: ['networks'] });
    say(archived ? 'Archived: it takes no new runs.' : 'Taken out of the archive.');
  };
  const isArchived = network.status === 'archived';
  return (
    <>
      {draft.isChanged && <Tag tone="warn">Unsaved changes</Tag>}
      <Button icon={Save} disabled={!draft.isChanged || isArchived} onClick={() => setOpen('save')}>
        Save
      </Button>
      <Button kind="primary" icon={Rocket} disabled={isArchived} onClick={() => setOpen('publish')}>
        Publish
      </Button>
      <Menu trigger={<Button kind="quiet" size="icon" aria-label="More" icon={Ellipsis} />}>
        <MenuItem icon={Copy} onSelect={() => setOpen('copy')}>
          Copy
        </MenuItem>
        {isArchived ? (
          <MenuItem icon={ArchiveRestore} onSelect={() => setArchived(false).catch(sayError)}>
            Take out of the archive
          </MenuItem>
        ) : (
          <MenuItem icon={Archive} onSelect={() => setOpen('archive')}>
            Archive
          </MenuItem>
        )}
        <MenuItem danger icon={Trash2} onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <Suspense>
        {open === 'save' && <SaveDialog draft={draft} checked={checked} onClose={close} />}
        {open === 'publish' && (
          <PublishDialog network={network} draft={draft} checked={checked} go={go} onClose={close} />
        )}
        {open === 'copy' && <CopyNetwork network={network} onClose={close} />}
      </Suspense>
      <Confirm
        open={open === 'archive'}
        onClose={close}
        title={`Archive “${network.name}”?`}
        label="Archive"
        act={() => setArchived(true)}
      >
        It takes no new runs and is not edited until it is taken out again. Runs under way go on.
      </Confirm>
      <Confirm
        open={open === 'delete'}
        onClose={close}
        title={`Delete “${network.name}”?`}
        label="Delete"
        act={async () => {
          await troupe.networks.remove({ params });
          await navigate({ to: '/networks', ignoreBlocker: true });
          await client.invalidateQueries({ queryKey: ['networks'] });
          say('Deleted the network.');
        }}
      >
        Its versions go with it. Its runs stay, and those that have not ended go on.
      </Confirm>
    </>
  );
}
