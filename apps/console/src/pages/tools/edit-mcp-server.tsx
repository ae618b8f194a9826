import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select, TextArea } from '../../blocks/field.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';

export function EditMcpServer({ server, onClose }: { server: Api.McpServer | null; onClose: () => void }) {
  const [name, setName] = useState(server?.name ?? '');
  const [transport, setTransport] = useState<Api.McpTransport>(server?.transport ?? 'http');
  const [url, setUrl] = useState(server?.url ?? '');
  const [headers, setHeaders] = useState(server?.headers ?? {});
  const [command, setCommand] = useState(server?.command ?? '');
  const [args, setArgs] = useState((server?.args ?? []).join('\n'));
  const [env, setEnv] = useState(server?.env ?? {});
  const [allow, setAllow] = useState(server?.allow?.join(', ') ?? '');
  const client = useQueryClient();
  const isHttp = transport === 'http';
  const save = useMutation({
    mutationFn: () => {
      const allowed = allow
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '');
      const where = isHttp
        ? { url: url.trim(), headers }
        : { command: command.trim(), args: args.split('\n').filter((one) => one !== ''), env };
      const body = { name: name.trim(), ...where, allow: allowed.length > 0 ? allowed : null };
      return server
        ? troupe.mcpServers.update({ params: { mcpServerId: server.id }, body })
        : troupe.mcpServers.create({ body: { ...body, transport } });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['mcpServers'] });
      onClose();
    },
  });
  const { error } = save;
  const rest = restOf(error, ['name', 'url', 'headers', 'command', 'args', 'env', 'allow']);
  return (
    <Dialog open onClose={onClose} title={server ? `Edit ${server.name}` : 'Add an MCP server'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Field
          label="Name"
          hint="Tools are called by it and their own: issues_search."
          error={issueAt(error, 'name')}
        >
          {(ids) => (
            <Input
              {...ids}
              required
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        {!server && (
          <Field label="How it is reached">
            {(ids) => (
              <Select
                {...ids}
                value={transport}
                onChange={({ target }) => setTransport(target.value as Api.McpTransport)}
              >
                <option value="http">At an address (streamable HTTP)</option>
                <option value="stdio">As a program on the machine of the worker</option>
              </Select>
            )}
          </Field>
        )}
        {isHttp ? (
          <>
            <Field label="Address" error={issueAt(error, 'url')}>
              {(ids) => (
                <Input
                  {...ids}
                  required
                  placeholder="https://mcp.example.com/mcp"
                  value={url}
                  onChange={({ target }) => setUrl(target.value)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
            <Pairs label="Headers" names="Header" add="Add a header" value={headers} onChange={setHeaders} />
          </>
        ) : (
          <>
            <Field
              label="Program"
              hint="One that the operator allows with TROUPE_MCP_COMMANDS."
              error={issueAt(error, 'command')}
            >
              {(ids) => (
                <Input
                  {...ids}
                  required
                  value={command}
                  onChange={({ target }) => setCommand(target.value)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
            <Field label="Arguments" hint="One in a line." error={issueAt(error, 'args')}>
              {(ids) => (
                <TextArea
                  {...ids}
                  rows={3}
                  value={args}
                  onChange={({ target }) => setArgs(target.value)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
            <Pairs label="Environment" names="Variable" add="Add a variable" value={env} onChange={setEnv} />
          </>
        )}
        <Field
          label="Tools that may be used"
          hint="The server's names for them, separated by commas. Empty: all."
          error={issueAt(error, 'allow')}
        >
          {(ids) => <Input {...ids} value={allow} onChange={({ target }) => setAllow(target.value)} />}
        </Field>
        <SecretsNamed texts={[url, headers, args, env]} />
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {server ? 'Save' : 'Add'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
