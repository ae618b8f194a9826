import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList } from '../../blocks/list.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { TextDiff } from '../../blocks/text-diff.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { restAsText } from './definition.ts';

const route = getRouteApi('/agents/$agentId');

/** All versions; any two are compared, and any can be made the current one again. */
export default function VersionsTab({ agent }: { agent: Api.Agent }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useCursorPages(['agents', 'versions', agent.id, agent.version], (query) =>
    troupe.agents.listVersions({ params: { agentId: agent.id }, query }),
  );
  const to = Number(search.to) || agent.version;
  const from = Number(search.from) || Math.max(1, to - 1);
  const choose = (part: { from?: number; to?: number }) =>
    void navigate({
      search: (now) => ({
        ...now,
        from: String(part.from ?? from),
        to: String(part.to ?? to),
      }),
      replace: true,
    });
  const chooser = (name: 'from' | 'to', chosen: number) => ({
    name: name === 'from' ? 'From' : 'To',
    className: 'w-px',
    cell: ({ version }: Api.AgentVersion) => (
      <input
        type="radio"
        className="size-4 accent-[var(--troupe-accent)]"
        name={name}
        aria-label={`Compare ${name} version ${version}`}
        checked={version === chosen}
        onChange={() => choose({ [name]: version })}
      />
    ),
  });
  return (
    <div className="flex max-w-5xl flex-col gap-4">
      <TableList
        list={list}
        empty={null}
        label="Versions"
        keyOf={(version) => version.version}
        columns={[
          {
            name: 'Version',
            cellClass: 'whitespace-nowrap tabular-nums',
            cell: (version) => (
              <>
                {version.version} {version.version === agent.version && <Tag tone="accent">current</Tag>}
              </>
            ),
          },
          chooser('from', from),
          chooser('to', to),
          {
            name: 'Note',
            cellClass: 'max-w-80 truncate text-muted',
            title: (version) => version.notes ?? undefined,
            cell: (version) => version.notes ?? <span className="text-faint">–</span>,
          },
          { name: 'Made', time: (version) => version.createdAt },
          {
            name: 'Actions',
            isAction: true,
            cell: (version) =>
              version.version !== agent.version && <RollBack agent={agent} version={version.version} />,
          },
        ]}
      />
      {agent.version > 1 && <Compared agentId={agent.id} from={from} to={to} />}
    </div>
  );
}

function RollBack({ agent, version }: { agent: Api.Agent; version: number }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        size="small"
        kind="quiet"
        icon={RotateCcw}
        aria-label={`Roll back to version ${version}`}
        onClick={() => setOpen(true)}
      >
        Roll back
      </Button>
      <Confirm
        open={open}
        onClose={() => setOpen(false)}
        title={`Roll back to version ${version}?`}
        label="Roll back"
        changes="agents"
        act={async () => {
          const now = await troupe.agents.rollback({ params: { agentId: agent.id }, body: { version } });
          say(`Rolled back: version ${now.version} equals version ${version}.`);
        }}
      >
        This creates a new version with the content of version {version}. The versions between stay, and runs
        in progress keep theirs.
      </Confirm>
    </>
  );
}

function Compared({ agentId, from, to }: { agentId: string; from: number; to: number }) {
  const query = useQuery({
    queryKey: ['agents', 'compared', agentId, from, to],
    queryFn: () =>
      Promise.all([from, to].map((version) => troupe.agents.getVersion({ params: { agentId, version } }))),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={query}>
      {([before, after]) => (
        <>
          <Card title={`Prompt, from version ${from} to ${to}`}>
            <TextDiff
              before={before!.definition.systemPrompt}
              after={after!.definition.systemPrompt}
              label={`The prompt of versions ${from} and ${to}`}
            />
          </Card>
          <Card title={`The rest, from version ${from} to ${to}`}>
            <TextDiff
              before={restAsText(before!.definition)}
              after={restAsText(after!.definition)}
              label={`The rest of versions ${from} and ${to}`}
            />
          </Card>
        </>
      )}
    </Loaded>
  );
}
