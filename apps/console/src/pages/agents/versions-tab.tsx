import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Failure, Loaded, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { TextDiff } from '../../blocks/text-diff.tsx';
import { say } from '../../blocks/toast.tsx';
import { When } from '../../blocks/when.tsx';
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
  if (!list.items) return list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading />;
  return (
    <div className="flex max-w-5xl flex-col gap-4">
      <Card flush>
        <Table
          label="Versions"
          head={
            <>
              <Th>Version</Th>
              <Th className="w-px">From</Th>
              <Th className="w-px">To</Th>
              <Th>Note</Th>
              <Th>Made</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </>
          }
        >
          {list.items.map((version) => (
            <Tr key={version.version}>
              <Td className="whitespace-nowrap tabular-nums">
                {version.version} {version.version === agent.version && <Tag tone="accent">current</Tag>}
              </Td>
              <Td label="From">
                <input
                  type="radio"
                  className="size-4 accent-[var(--troupe-accent)]"
                  name="from"
                  aria-label={`Compare from version ${version.version}`}
                  checked={version.version === from}
                  onChange={() => choose({ from: version.version })}
                />
              </Td>
              <Td label="To">
                <input
                  type="radio"
                  className="size-4 accent-[var(--troupe-accent)]"
                  name="to"
                  aria-label={`Compare to version ${version.version}`}
                  checked={version.version === to}
                  onChange={() => choose({ to: version.version })}
                />
              </Td>
              <Td label="Note" className="max-w-80 truncate text-muted" title={version.notes ?? undefined}>
                {version.notes ?? <span className="text-faint">–</span>}
              </Td>
              <Td label="Made" className="text-muted">
                <When value={version.createdAt} />
              </Td>
              <Td className="w-px">
                {version.version !== agent.version && <RollBack agent={agent} version={version.version} />}
              </Td>
            </Tr>
          ))}
        </Table>
        <MoreButton list={list} />
      </Card>
      {agent.version > 1 && <Compared agentId={agent.id} from={from} to={to} />}
    </div>
  );
}

function RollBack({ agent, version }: { agent: Api.Agent; version: number }) {
  const [open, setOpen] = useState(false);
  const client = useQueryClient();
  return (
    <>
      <Button
        size="small"
        kind="quiet"
        icon={<RotateCcw size={13} aria-hidden="true" />}
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
        act={async () => {
          const now = await troupe.agents.rollback({ params: { agentId: agent.id }, body: { version } });
          await client.invalidateQueries({ queryKey: ['agents'] });
          say(`Version ${now.version} says what version ${version} said.`);
        }}
      >
        It becomes a new version that says what version {version} said. Nothing in between is lost, and runs
        that have begun keep what they have.
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
