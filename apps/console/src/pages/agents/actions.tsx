import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Archive, ArchiveRestore, Download, Ellipsis, MessageSquare } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { sessionAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { saveFile } from '../../data/save-file.ts';

const endings = { markdown: 'md', yaml: 'yaml', json: 'json' };

/** What can be done with an agent as a whole. */
export function AgentActions({ agent }: { agent: Api.Agent }) {
  const [archiving, setArchiving] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const params = { agentId: agent.id };
  const changed = () => client.invalidateQueries({ queryKey: ['agents'] });
  const talk = useMutation({
    mutationFn: () => troupe.sessions.create({ params, body: {} }),
    onSuccess: (session) => void navigate({ to: sessionAddress(agent.id, session.id) }),
    onError: sayError,
  });
  const restore = useMutation({
    mutationFn: () => troupe.agents.update({ params, body: { status: 'active' } }),
    onSuccess: () => {
      say(`${agent.name} takes work again.`);
      return changed();
    },
    onError: sayError,
  });
  const download = async (format: keyof typeof endings) => {
    try {
      const text = await troupe.agents.exportOne({ params, query: { format } });
      saveFile(`${agent.name}.${endings[format]}`, text);
    } catch (error) {
      sayError(error);
    }
  };
  const isArchived = agent.status === 'archived';
  return (
    <>
      <Link to={'/sessions' as string} search={{ agent: agent.id } as never} className={buttonClass('quiet')}>
        Sessions
      </Link>
      <Link to={'/runs' as string} search={{ agent: agent.id } as never} className={buttonClass('quiet')}>
        Runs
      </Link>
      {!isArchived && (
        <Button kind="primary" busy={talk.isPending} icon={MessageSquare} onClick={() => talk.mutate()}>
          Talk to it
        </Button>
      )}
      <Menu trigger={<Button size="icon" aria-label="More" icon={Ellipsis} />}>
        {(['markdown', 'yaml', 'json'] as const).map((format) => (
          <MenuItem key={format} icon={Download} onSelect={() => void download(format)}>
            Export as {{ markdown: 'Markdown', yaml: 'YAML', json: 'JSON' }[format]}
          </MenuItem>
        ))}
        {isArchived ? (
          <MenuItem icon={ArchiveRestore} onSelect={() => restore.mutate()}>
            Bring back
          </MenuItem>
        ) : (
          <MenuItem danger icon={Archive} onSelect={() => setArchiving(true)}>
            Archive…
          </MenuItem>
        )}
      </Menu>
      <Confirm
        open={archiving}
        onClose={() => setArchiving(false)}
        title={`Archive ${agent.name}?`}
        label="Archive"
        act={async () => {
          await troupe.agents.archive({ params });
          await changed();
        }}
      >
        It takes no new work. Its sessions stay readable, and it can be brought back.
      </Confirm>
    </>
  );
}
