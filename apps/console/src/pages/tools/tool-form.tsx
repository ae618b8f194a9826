import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Checkbox, Field, SelectField, TextArea, TextAreaField, TextField } from '../../blocks/field.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration } from '../../data/format.ts';
import { useAgents } from '../../data/names.ts';
import type { ToolDraft } from './draft.ts';
import { RequestFields } from './request-fields.tsx';
import { kindWords } from './words.ts';

export interface ToolFormProps {
  draft: ToolDraft;
  change: (part: Partial<ToolDraft>) => void;
  invalid: (field: string, isInvalid: boolean) => void;
  isNew: boolean;
}

const isObject = (value: unknown): value is Api.JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a person says of a tool. Of those that come from elsewhere, what only this project decides. */
export function ToolForm(props: ToolFormProps) {
  const { draft, change, invalid, isNew } = props;
  const { kind } = draft;
  const isFixed = kind === 'mcp' || kind === 'code';
  const isAnswered = kind === 'client' || kind === 'ui';
  return (
    <div className="flex flex-col gap-4">
      <Card title="What it is">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            hint={isNew ? 'As the model calls it: letters, digits, _ and -. It stays.' : 'It stays.'}
            path="name"
            required
            disabled={!isNew}
            maxLength={64}
            pattern="[A-Za-z_][A-Za-z0-9_\-]*"
            mono
            value={draft.name}
            onChange={(name) => change({ name })}
          />
          <TextField
            label="Name for people"
            path="displayName"
            maxLength={200}
            value={draft.displayName}
            onChange={(displayName) => change({ displayName })}
          />
          <TextAreaField
            label="Description"
            hint={
              isFixed
                ? 'It comes from where the tool is.'
                : 'For the model: what it does, and when to call it.'
            }
            path="description"
            className="sm:col-span-2"
            rows={3}
            maxLength={10_000}
            disabled={isFixed}
            value={draft.description}
            onChange={(description) => change({ description })}
          />
        </div>
      </Card>
      {kind === 'http' && <RequestFields {...props} />}
      {(kind === 'agent' || kind === 'network') && <TargetField {...props} />}
      {kind === 'static' && (
        <Card title="Answer">
          <JsonField
            label="What it always answers"
            value={draft.output}
            path="output"
            onChange={(output, isValid) => {
              invalid('output', !isValid);
              if (isValid) change({ output: output as Api.Json });
            }}
          />
        </Card>
      )}
      <Card title="Schemas">
        <div className="flex flex-col gap-4">
          {isFixed ? (
            <Field label="What a call must be given" hint="It comes from where the tool is.">
              {(ids) => (
                <TextArea
                  {...ids}
                  readOnly
                  rows={8}
                  value={JSON.stringify(draft.inputSchema, null, 2)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
          ) : (
            <JsonField
              label="What a call must be given"
              hint="JSON Schema of an object. A call that does not fit is not made, and the model is told why."
              rows={10}
              value={draft.inputSchema}
              path="inputSchema"
              onChange={(schema, isValid) => {
                const isUsable = isValid && isObject(schema);
                invalid('inputSchema', !isUsable);
                if (isUsable) change({ inputSchema: schema });
              }}
            />
          )}
          {isAnswered && (
            <JsonField
              label="What an answer must look like"
              hint="JSON Schema. Empty: anything."
              value={draft.outputSchema}
              empty={null}
              path="outputSchema"
              onChange={(schema, isValid) => {
                const isUsable = isValid && (schema === null || isObject(schema));
                invalid('outputSchema', !isUsable);
                if (isUsable) change({ outputSchema: schema as Api.JsonObject | null });
              }}
            />
          )}
        </div>
      </Card>
      <Card title="How it is called">
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField
            label="After a crash with unknown outcome"
            path="effect"
            {...(isNew ? { first: 'The default of its kind' } : {})}
            value={draft.effect}
            onChange={(effect) => change({ effect })}
            options={[
              ['pure', 'Call again: it has no effect (pure)'],
              ['idempotent', 'Call again with the same key (idempotent)'],
              ['once', 'Never call again automatically (once)'],
            ]}
          />
          {isAnswered || kind === 'network' || kind === 'agent' ? (
            <Milliseconds
              label="How long an answer may take (ms)"
              value={draft.deadlineMs}
              path="deadlineMs"
              onChange={(deadlineMs) => change({ deadlineMs })}
            />
          ) : (
            <Milliseconds
              label="How long it may take (ms)"
              value={draft.timeoutMs}
              path="timeoutMs"
              onChange={(timeoutMs) => change({ timeoutMs })}
            />
          )}
          {!isAnswered && (
            <Checkbox
              label="A person must approve every call"
              checked={draft.approval}
              onChange={(approval) => change({ approval })}
            />
          )}
          <Checkbox
            label="Calls are shown to people in spaces"
            checked={draft.visible}
            onChange={(visible) => change({ visible })}
          />
          <Issue path="approval" />
        </div>
      </Card>
    </div>
  );
}

function Milliseconds({
  label,
  value,
  path,
  onChange,
}: {
  label: string;
  value: number;
  path: string;
  onChange: (value: number) => void;
}) {
  return (
    <TextField
      label={label}
      hint={formatDuration(value)}
      path={path}
      type="number"
      min={1}
      step={1}
      required
      value={value}
      onChange={(text) => onChange(Number(text))}
    />
  );
}

function TargetField({ draft, change }: ToolFormProps) {
  const agents = useAgents();
  const networks = useQuery({
    queryKey: ['networks', 'names'],
    queryFn: async () => (await troupe.networks.list({ query: { limit: 200 } })).data,
    enabled: draft.kind === 'network',
  }).data;
  const names = draft.kind === 'agent' ? agents?.map(({ name }) => name) : networks?.map(({ name }) => name);
  return (
    <Card title={draft.kind === 'agent' ? 'Agent' : 'Network'}>
      <TextField
        label={draft.kind === 'agent' ? 'Agent' : 'Network'}
        hint={kindWords[draft.kind]}
        path={draft.kind}
        required
        suggestions={names ?? []}
        value={draft.target}
        onChange={(target) => change({ target })}
      />
    </Card>
  );
}
