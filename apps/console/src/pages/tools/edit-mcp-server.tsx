import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { SelectField, TextAreaField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import { troupe } from '../../data/client.ts';

export function EditMcpServer({ server, onClose }: { server: Api.McpServer | null; onClose: () => void }) {
  const [name, setName] = useState(server?.name ?? '');
  const [transport, setTransport] = useState<Api.McpTransport>(server?.transport ?? 'http');
  const [url, setUrl] = useState(server?.url ?? '');
  const [headers, setHeaders] = useState(server?.headers ?? {});
  const [command, setCommand] = useState(server?.command ?? '');
  const [args, setArgs] = useState((server?.args ?? []).join('\n'));
  const [env, setEnv] = useState(server?.env ?? {});
  const [allow, setAllow] = useState(server?.allow?.join(', ') ?? '');
  const isHttp = transport === 'http';
  return (
    <FormDialog
      onClose={onClose}
      title={server ? `Edit ${server.name}` : 'Add MCP server'}
      submit={server ? 'Save MCP server' : 'Add MCP server'}
      act={() => {
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
      }}
      changes="mcpServers"
    >
      <TextField
        label="Name"
        hint="The prefix of its tools, such as issues_search."
        path="name"
        required
        maxLength={200}
        value={name}
        onChange={setName}
      />
      {!server && (
        <SelectField
          label="Transport"
          value={transport}
          onChange={setTransport}
          options={[
            ['http', 'Streamable HTTP'],
            ['stdio', 'A program on the machine of the worker (stdio)'],
          ]}
        />
      )}
      {isHttp ? (
        <>
          <TextField
            label="Address"
            path="url"
            required
            placeholder="https://mcp.example.com/mcp"
            mono
            value={url}
            onChange={setUrl}
          />
          <Pairs
            label="Headers"
            names="Header"
            add="Add header"
            path="headers"
            value={headers}
            onChange={setHeaders}
          />
        </>
      ) : (
        <>
          <TextField
            label="Program"
            hint="One that the operator allows with TROUPE_MCP_COMMANDS."
            path="command"
            required
            mono
            value={command}
            onChange={setCommand}
          />
          <TextAreaField
            label="Arguments"
            hint="One per line."
            path="args"
            rows={3}
            mono
            value={args}
            onChange={setArgs}
          />
          <Pairs
            label="Environment"
            names="Variable"
            add="Add variable"
            path="env"
            value={env}
            onChange={setEnv}
          />
        </>
      )}
      <TextField
        label="Allowed tools"
        hint="Names of tools of the server, separated by commas. Empty: all."
        path="allow"
        value={allow}
        onChange={setAllow}
      />
      <SecretsNamed texts={[url, headers, args, env]} />
    </FormDialog>
  );
}
