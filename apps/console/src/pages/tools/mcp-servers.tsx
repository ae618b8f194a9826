import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Download, Pencil, Plug, PlugZap, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { AddButton, Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { List, Toolbar } from '../../blocks/list.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Notice } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { formatDuration } from '../../data/format.ts';
import { messageOf } from '../../data/issues.ts';
import { EditMcpServer } from './edit-mcp-server.tsx';

/** Servers that speak the Model Context Protocol: each tested and imported from here. */
export default function McpServers() {
  const [edited, setEdited] = useState<Api.McpServer | 'new' | null>(null);
  const list = useCursorPages(['mcpServers', 'list'], (query) => troupe.mcpServers.list({ query }));
  const add = <AddButton onClick={() => setEdited('new')}>Add MCP server</AddButton>;
  return (
    <div className="flex max-w-4xl flex-col gap-4">
      <List
        list={list}
        empty={
          <Card>
            <Empty icon={Plug} title="No MCP servers yet" action={add}>
              Add a server that speaks the Model Context Protocol, then import its tools. Imported definitions
              are pinned: a tool whose definition changes is not called until you import it again.
            </Empty>
          </Card>
        }
      >
        {(servers) => (
          <>
            <Toolbar actions={add} />
            {servers.map((server) => (
              <Server key={server.id} server={server} onEdit={() => setEdited(server)} />
            ))}
          </>
        )}
      </List>
      {edited && <EditMcpServer server={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
    </div>
  );
}

function Server({ server, onEdit }: { server: Api.McpServer; onEdit: () => void }) {
  const [deletes, setDeletes] = useState(false);
  const client = useQueryClient();
  const params = { mcpServerId: server.id };
  const test = useMutation({ mutationFn: () => troupe.mcpServers.test({ params, body: {} }) });
  const bring = useMutation({
    mutationFn: () => troupe.mcpServers.import({ params, body: {} }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['tools'] }),
  });
  const failure = test.error ?? bring.error;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          {server.name} <Tag>{server.transport}</Tag>
        </span>
      }
      actions={
        <>
          <Button
            size="small"
            busy={test.isPending}
            icon={PlugZap}
            aria-label={`Test ${server.name}`}
            onClick={() => test.mutate()}
          >
            Test
          </Button>
          <Button
            size="small"
            busy={bring.isPending}
            icon={Download}
            aria-label={`Import tools of ${server.name}`}
            onClick={() => bring.mutate()}
          >
            Import tools
          </Button>
          <IconButton label={`Edit ${server.name}`} icon={Pencil} onClick={onEdit} />
          <IconButton label={`Delete ${server.name}`} icon={Trash2} onClick={() => setDeletes(true)} />
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p className="font-mono text-xs break-all text-muted">
          {server.url ?? [server.command, ...server.args].join(' ')}
        </p>
        {server.allow && (
          <p className="text-xs text-muted">Only these tools: {server.allow.join(', ') || 'none'}</p>
        )}
        {failure && <Notice tone="bad">{messageOf(failure)}</Notice>}
        {test.data && <Tested test={test.data} />}
        {bring.data && <Brought result={bring.data} />}
      </div>
      <Confirm
        open={deletes}
        onClose={() => setDeletes(false)}
        title={`Delete MCP server ${server.name}?`}
        label="Delete MCP server"
        changes="mcpServers"
        act={() => troupe.mcpServers.remove({ params })}
      >
        A server that tools use cannot be deleted.
      </Confirm>
    </Card>
  );
}

function Tested({ test }: { test: Api.McpServerTest }) {
  if (!test.ok)
    return (
      <Notice tone="bad">
        {test.error?.message}
        <code className="block font-mono text-2xs">{test.error?.code}</code>
      </Notice>
    );
  return (
    <div className="flex flex-col gap-2">
      <Notice tone="good">
        {test.server ? `${test.server.name} ${test.server.version} answers` : 'It answers'}, with{' '}
        {test.tools.length} {test.tools.length === 1 ? 'tool' : 'tools'}, after{' '}
        {formatDuration(test.durationMs)}.
      </Notice>
      <ul
        aria-label="What it offers"
        className="max-h-72 divide-y divide-line overflow-y-auto rounded-md border border-line"
      >
        {test.tools.map((tool) => (
          <li key={tool.name} className="px-3 py-1.5">
            <p className="flex items-center gap-2 font-mono text-xs">
              {tool.name} {!tool.allowed && <Tag tone="warn">not allowed</Tag>}
            </p>
            <p className="truncate text-xs text-muted">{tool.description}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}

const outcomes = {
  created: 'Made',
  updated: 'Changed',
  unchanged: 'As they were',
  gone: 'No longer there',
} as const;

function Brought({ result }: { result: Api.McpImport }) {
  return (
    <dl aria-label="What was imported" className="flex flex-col gap-1 text-sm">
      {(Object.keys(outcomes) as (keyof typeof outcomes)[]).map((outcome) =>
        result[outcome].length === 0 ? null : (
          <div key={outcome} className="flex flex-wrap gap-x-2">
            <dt className="text-muted">{outcomes[outcome]}:</dt>
            <dd className="font-mono text-xs leading-5 break-all">
              {result[outcome].map(({ name }) => name).join(', ')}
            </dd>
          </div>
        ),
      )}
      {result.refused.map(({ tool, message }) => (
        <div key={tool} className="text-bad">
          {tool}: {message}
        </div>
      ))}
    </dl>
  );
}
