import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { ChevronRight, ScrollText } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CodeBlock } from '../../blocks/code-block.tsx';
import { cx } from '../../blocks/cx.ts';
import { TableList } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty } from '../../blocks/states.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { nameOfEntity } from '../../data/names.ts';
import { entitiesQuery } from '../../data/queries.ts';
import { given } from '../../data/search-values.ts';

const route = getRouteApi('/audit');
/** Nouns that have a page for each. */
const pages: Record<string, string> = {
  agent: '/agents',
  tool: '/tools',
  trigger: '/triggers',
  network: '/networks',
  space: '/spaces',
  run: '/runs',
};

export function AuditPage() {
  const { action } = route.useSearch();
  const navigate = route.useNavigate();
  const [opened, setOpened] = useState<string | null>(null);
  useLive('audit');
  const filter = (next: string | undefined) =>
    void navigate({ search: given({ action: next || undefined }), replace: true });
  const list = useCursorPages(['audit', 'list', action], (page) =>
    troupe.access.listAudit({ query: { ...page, ...(action ? { action } : {}) } }),
  );
  const whoIs = useActor();
  return (
    <Page title="Audit log" about="Who changed what, newest first.">
      <div className="flex max-w-5xl flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <SearchBox
            label="Action, such as agent.created"
            value={action ?? ''}
            onSearch={filter}
            className="w-72 max-w-full"
          />
          {action && (
            <Button size="small" kind="quiet" onClick={() => filter(undefined)}>
              Show all
            </Button>
          )}
        </div>
        <TableList
          list={list}
          empty={
            <Empty icon={ScrollText} title={action ? 'No entries match' : 'No changes yet'}>
              Each change of a definition, a key or a setting is recorded here, in the transaction that makes
              it.
            </Empty>
          }
          label="Audit log"
          keyOf={({ id }) => id}
          rowClass={() => '@max-2xl:grid-cols-[auto_minmax(0,1fr)]'}
          below={(entry) =>
            opened === entry.id && (
              <>
                <p className="mb-2 text-xs text-muted">
                  <When value={entry.createdAt} exact />
                  {entry.target && (
                    <>
                      , <code className="font-mono break-all">{entry.target}</code>
                    </>
                  )}
                </p>
                <CodeBlock label="Details" text={JSON.stringify(entry.data, null, 2)} />
              </>
            )
          }
          columns={[
            {
              name: 'Details',
              isAction: true,
              cellClass: 'pr-0',
              cell: (entry) => (
                <Button
                  kind="quiet"
                  size="small-icon"
                  aria-expanded={opened === entry.id}
                  aria-label={`Details of ${entry.action} ${nameIn(entry)}`}
                  icon={
                    <ChevronRight
                      size={14}
                      className={cx('transition-transform', opened === entry.id && 'rotate-90')}
                    />
                  }
                  onClick={() => setOpened(opened === entry.id ? null : entry.id)}
                />
              ),
            },
            { name: 'When', isPlain: true, time: (entry) => entry.createdAt },
            {
              name: 'Who',
              cellClass: 'max-w-28 truncate sm:max-w-48',
              title: ({ actor }) => actor.id ?? '',
              cell: ({ actor }) => whoIs(actor),
            },
            {
              name: 'Action',
              cell: (entry) => (
                <button
                  type="button"
                  title="Filter by this action"
                  className="rounded-sm font-mono text-xs hover:underline"
                  onClick={() => filter(entry.action)}
                >
                  {entry.action}
                </button>
              ),
            },
            {
              name: 'Target',
              cellClass: 'max-w-56 truncate @5xl:max-w-72',
              cell: (entry) => <Target entry={entry} />,
            },
          ]}
        />
      </div>
    </Page>
  );
}

function useActor(): (actor: Api.AuditEntry['actor']) => string {
  const { data: keys } = useQuery({
    queryKey: ['keys', 'names'],
    queryFn: async () => (await troupe.access.listKeys({ query: { limit: 200 } })).data,
    staleTime: 30_000,
  });
  const { data: entities } = useQuery(entitiesQuery);
  return ({ kind, id }) => {
    if (kind === 'dev') return 'Somebody at this machine';
    if (kind === 'system') return 'Troupe';
    if (kind === 'key') return keys?.find((key) => key.id === id)?.name ?? `key ${id ? shortId(id) : ''}`;
    const entity = entities?.find((one) => one.id === id);
    return entity ? nameOfEntity(entity) : `person ${id ? shortId(id) : ''}`;
  };
}

function saidName({ name, displayName, modelId }: Api.AuditEntry['data']): string | null {
  return ([name, displayName, modelId].find((one) => typeof one === 'string') as string | undefined) ?? null;
}

function nameIn({ data, target }: Api.AuditEntry): string {
  return saidName(data) ?? target ?? '';
}

function Target({ entry }: { entry: Api.AuditEntry }) {
  const page = pages[entry.action.split('.')[0]!];
  const text = saidName(entry.data) ?? (entry.target ? shortId(entry.target) : '–');
  const isGone = entry.action.endsWith('.deleted');
  if (page && entry.target && !isGone)
    return (
      <Link to={`${page}/${entry.target}` as string} className="hover:underline" title={text}>
        {text}
      </Link>
    );
  return <span title={text}>{text}</span>;
}
