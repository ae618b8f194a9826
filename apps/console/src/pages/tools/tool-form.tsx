import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Checkbox, Field, Input, Select, TextArea } from '../../blocks/field.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration } from '../../data/format.ts';
import { issueAt } from '../../data/issues.ts';
import { useAgents } from '../../data/names.ts';
import type { ToolDraft } from './draft.ts';
import { RequestFields } from './request-fields.tsx';
import { kindWords } from './words.ts';

export interface ToolFormProps {
  draft: ToolDraft;
  change: (part: Partial<ToolDraft>) => void;
  invalid: (field: string, isInvalid: boolean) => void;
  error: unknown;
  isNew: boolean;
}

const isObject = (value: unknown): value is Api.JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a person says of a tool. Of those that come from elsewhere, what only this project decides. */
export function ToolForm(props: ToolFormProps) {
  const { draft, change, invalid, error, isNew } = props;
  const { kind } = draft;
  const isFixed = kind === 'mcp' || kind === 'code';
  const isAnswered = kind === 'client' || kind === 'ui';
  return (
    <div className="flex flex-col gap-4">
      <Card title="What it is">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label="Name"
            hint={isNew ? 'As the model calls it: letters, digits, _ and -. It stays.' : 'It stays.'}
            error={issueAt(error, 'name')}
          >
            {(ids) => (
              <Input
                {...ids}
                required
                disabled={!isNew}
                maxLength={64}
                pattern="[A-Za-z_][A-Za-z0-9_\-]*"
                value={draft.name}
                onChange={({ target }) => change({ name: target.value })}
                className="font-mono text-xs"
              />
            )}
          </Field>
          <Field label="Name for people" error={issueAt(error, 'displayName')}>
            {(ids) => (
              <Input
                {...ids}
                maxLength={200}
                value={draft.displayName}
                onChange={({ target }) => change({ displayName: target.value })}
              />
            )}
          </Field>
          <Field
            label="Description"
            hint={
              isFixed
                ? 'It comes from where the tool is.'
                : 'For the model: what it does, and when to call it.'
            }
            error={issueAt(error, 'description')}
            className="sm:col-span-2"
          >
            {(ids) => (
              <TextArea
                {...ids}
                rows={3}
                maxLength={10_000}
                disabled={isFixed}
                value={draft.description}
                onChange={({ target }) => change({ description: target.value })}
              />
            )}
          </Field>
        </div>
      </Card>
      {kind === 'http' && <RequestFields {...props} />}
      {(kind === 'agent' || kind === 'network') && <TargetField {...props} />}
      {kind === 'static' && (
        <Card title="Answer">
          <JsonField
            label="What it always answers"
            value={draft.output}
            error={issueAt(error, 'output')}
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
              error={issueAt(error, 'inputSchema')}
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
              error={issueAt(error, 'outputSchema')}
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
          <Field label="A call whose outcome a crash left unknown" error={issueAt(error, 'effect')}>
            {(ids) => (
              <Select
                {...ids}
                value={draft.effect}
                onChange={({ target }) => change({ effect: target.value as ToolDraft['effect'] })}
              >
                {isNew && <option value="">As usual for its kind</option>}
                <option value="pure">is made again: it changes nothing (pure)</option>
                <option value="idempotent">is made again with the same key (idempotent)</option>
                <option value="once">is never made again by itself (once)</option>
              </Select>
            )}
          </Field>
          {isAnswered || kind === 'network' || kind === 'agent' ? (
            <Milliseconds
              label="How long an answer may take (ms)"
              value={draft.deadlineMs}
              error={issueAt(error, 'deadlineMs')}
              onChange={(deadlineMs) => change({ deadlineMs })}
            />
          ) : (
            <Milliseconds
              label="How long it may take (ms)"
              value={draft.timeoutMs}
              error={issueAt(error, 'timeoutMs')}
              onChange={(timeoutMs) => change({ timeoutMs })}
            />
          )}
          {!isAnswered && (
            <Checkbox
              label="A person must approve every call"
              checked={draft.approval}
              onChange={({ target }) => change({ approval: target.checked })}
            />
          )}
          <Checkbox
            label="Calls are shown to people in spaces"
            checked={draft.visible}
            onChange={({ target }) => change({ visible: target.checked })}
          />
          {issueAt(error, 'approval') && <p className="text-xs text-bad">{issueAt(error, 'approval')}</p>}
        </div>
      </Card>
    </div>
  );
}

function Milliseconds({
  label,
  value,
  error,
  onChange,
}: {
  label: string;
  value: number;
  error: string | undefined;
  onChange: (value: number) => void;
}) {
  return (
    <Field label={label} hint={formatDuration(value)} error={error}>
      {(ids) => (
        <Input
          {...ids}
          type="number"
          min={1}
          step={1}
          required
          value={value}
          onChange={({ target }) => onChange(Number(target.value))}
        />
      )}
    </Field>
  );
}

function TargetField({ draft, change, error }: ToolFormProps) {
  const agents = useAgents();
  const networks = useQuery({
    queryKey: ['networks', 'names'],
    queryFn: async () => (await troupe.networks.list({ query: { limit: 200 } })).data,
    enabled: draft.kind === 'network',
  }).data;
  const names = draft.kind === 'agent' ? agents?.map(({ name }) => name) : networks?.map(({ name }) => name);
  return (
    <Card title={draft.kind === 'agent' ? 'Agent' : 'Network'}>
      <Field
        label={draft.kind === 'agent' ? 'Who is asked' : 'What is run'}
        hint={kindWords[draft.kind]}
        error={issueAt(error, draft.kind)}
      >
        {(ids) => (
          <>
            <Input
              {...ids}
              required
              list={`${ids.id}-names`}
              value={draft.target}
              onChange={({ target }) => change({ target: target.value })}
            />
            <datalist id={`${ids.id}-names`}>
              {(names ?? []).map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
    </Card>
  );
}
