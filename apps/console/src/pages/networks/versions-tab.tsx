import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Download, History, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList } from '../../blocks/list.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { saveFile } from '../../data/save-file.ts';
import { BorrowedView, ChangesView } from './diff/changes-view.tsx';
import { withoutLayout } from './draft/definition.ts';
import type { GoTo } from './network.tsx';
import type { NetworkSearch } from './search.ts';
import { versionQuery } from './versions.ts';

export default function VersionsTab({
  network,
  search,
  go,
}: {
  network: Api.Network;
  search: NetworkSearch;
  go: GoTo;
}) {
  const list = useCursorPages(['networks', network.id, 'versions'], (page) =>
    troupe.networks.versions({ params: { network: network.id }, query: page }),
  );
  const [back, setBack] = useState<Api.NetworkVersion | null>(null);
  // After a rollback, later versions are there too.
  const actOf = ({ version }: { version: number }) =>
    version > (network.currentVersion ?? 0) ? 'Roll forward' : 'Roll back';
  const download = async (version: number) => {
    const file = await troupe.networks.export({ params: { network: network.id, version } });
    saveFile(`${network.name}-${version}.json`, JSON.stringify(file, null, 2), 'application/json');
  };
  return (
    <div className="flex flex-col gap-5">
      <TableList
        list={list}
        title="Versions"
        empty={
          <Empty icon={History} title="No versions yet">
            Publishing compiles the draft to an immutable version. Runs use the current version, and you can
            roll back to an earlier one.
          </Empty>
        }
        label="Versions"
        keyOf={(version) => version.version}
        columns={[
          {
            name: 'Version',
            cellClass: 'whitespace-nowrap',
            cell: (version) => (
              <>
                <span className="font-medium tabular-nums">{version.version}</span>{' '}
                {version.isCurrent && <Tag tone="good">current</Tag>}
              </>
            ),
          },
          {
            name: 'Note',
            cellClass: 'max-w-96',
            cell: (version) => (
              <p className="truncate text-muted" title={version.notes ?? ''}>
                {version.notes ?? '–'}
              </p>
            ),
          },
          { name: 'Published', time: (version) => version.publishedAt },
          {
            name: 'By',
            cellClass: 'max-w-40 truncate text-muted',
            title: (version) => version.publishedBy,
            cell: (version) => version.publishedBy,
          },
          {
            name: 'Actions',
            isAction: true,
            cell: (version) => (
              <div className="flex justify-end gap-1">
                {!version.isCurrent && (
                  <Button
                    size="small"
                    icon={Undo2}
                    aria-label={`${actOf(version)} to version ${version.version}`}
                    disabled={network.status === 'archived'}
                    onClick={() => setBack(version)}
                  >
                    {actOf(version)}
                  </Button>
                )}
                <Button
                  size="small"
                  icon={Download}
                  aria-label={`Export version ${version.version}`}
                  onClick={() => void download(version.version).catch(sayError)}
                >
                  Export
                </Button>
              </div>
            ),
          },
        ]}
      />
      {list.items && list.items.length > 1 && (
        <Compare network={network.id} versions={list.items} search={search} go={go} />
      )}
      <Confirm
        open={back !== null}
        onClose={() => setBack(null)}
        title={`${back ? actOf(back) : ''} to version ${back?.version}?`}
        label={back ? actOf(back) : ''}
        changes="networks"
        act={async () => {
          const { version } = back!;
          await troupe.networks.rollback({ params: { network: network.id }, body: { version } });
          say(`New runs use version ${version}.`);
        }}
      >
        New runs use this version. Runs in progress keep theirs, and the draft does not change.
      </Confirm>
    </div>
  );
}

function Compare({
  network,
  versions,
  search,
  go,
}: {
  network: string;
  versions: Api.NetworkVersion[];
  search: NetworkSearch;
  go: GoTo;
}) {
  const to = search.to ?? versions[0]!.version;
  const from = search.from ?? Math.max(1, to - 1);
  const before = useQuery(versionQuery(network, from));
  const after = useQuery(versionQuery(network, to));
  const compiled = useQuery({
    queryKey: ['network-versions', network, 'diff', from, to],
    queryFn: async () => {
      const { changes } = await troupe.networks.diff({ params: { network }, query: { from, to } });
      return changes.filter(({ path }) => path.startsWith('$.compiled'));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const choose = (label: string, value: number, name: 'from' | 'to') => (
    <Select
      aria-label={label}
      className="w-auto!"
      value={value}
      onChange={({ target }) => go({ [name]: Number(target.value) })}
    >
      {!versions.some(({ version }) => version === value) && <option value={value}>Version {value}</option>}
      {versions.map(({ version }) => (
        <option key={version} value={version}>
          Version {version}
        </option>
      ))}
    </Select>
  );
  const error = before.error ?? after.error;
  return (
    <Card
      title="What changed"
      actions={
        <div className="flex items-center gap-2 text-sm text-muted">
          {choose('From version', from, 'from')} to {choose('To version', to, 'to')}
        </div>
      }
    >
      {error ? (
        <Failure error={error} />
      ) : before.data && after.data ? (
        <div className="flex flex-col gap-3">
          <ChangesView before={withoutLayout(before.data)} after={withoutLayout(after.data)} />
          <BorrowedView
            changes={compiled.data ?? []}
            label="Changed in the project, by what the network refers to"
          />
        </div>
      ) : (
        <Loading />
      )}
    </Card>
  );
}
