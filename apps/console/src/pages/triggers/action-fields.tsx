import { Checkbox, Field, Input, Select, TextArea } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import { issueAt } from '../../data/issues.ts';
import { useAgents } from '../../data/names.ts';
import type { TriggerDraft } from './draft.ts';
import { SigningSecrets } from './signing-secrets.tsx';
import type { EditorProps } from './trigger-editor.tsx';

const filled = 'Filled in: {{document.field}}, {{before.field}}, {{event.type}}, {{event.path}}.';

/** What it does. */
export function ActionFields(props: EditorProps) {
  const { draft, change } = props;
  return (
    <Card title="What it does">
      <div className="flex flex-col gap-4">
        <Field label="Action">
          {(ids) => (
            <Select
              {...ids}
              value={draft.type}
              onChange={({ target }) => change({ type: target.value as TriggerDraft['type'] })}
            >
              <option value="webhook">Call a webhook</option>
              <option value="run">Start a run of an agent</option>
              <option value="message">Say something in a session or a space</option>
            </Select>
          )}
        </Field>
        {draft.type === 'webhook' && <WebhookFields {...props} />}
        {draft.type === 'run' && <RunFields {...props} />}
        {draft.type === 'message' && <MessageFields {...props} />}
      </div>
    </Card>
  );
}

function WebhookFields({ draft, change, error }: EditorProps) {
  return (
    <>
      <Field
        label="Address"
        hint="What begins with / is of this server."
        error={issueAt(error, 'action.url')}
      >
        {(ids) => (
          <Input
            {...ids}
            required
            placeholder="https://example.com/hooks"
            value={draft.url}
            onChange={({ target }) => change({ url: target.value })}
            className="font-mono text-xs"
          />
        )}
      </Field>
      <Pairs
        label="Headers"
        names="Header"
        add="Add a header"
        value={draft.headers}
        onChange={(headers) => change({ headers })}
      />
      {issueAt(error, 'action.headers') && (
        <p className="text-xs text-bad">{issueAt(error, 'action.headers')}</p>
      )}
      <SecretsNamed texts={draft.headers} />
      <SigningSecrets value={draft.secrets} onChange={(secrets) => change({ secrets })} />
      {issueAt(error, 'action.secrets') && (
        <p className="text-xs text-bad">{issueAt(error, 'action.secrets')}</p>
      )}
    </>
  );
}

function RunFields({ draft, change, error }: EditorProps) {
  const agents = useAgents();
  return (
    <>
      <Field label="Agent" error={issueAt(error, 'action.agent')}>
        {(ids) => (
          <Select
            {...ids}
            required
            value={draft.agent}
            onChange={({ target }) => change({ agent: target.value })}
          >
            <option value="">Choose an agent…</option>
            {draft.agent && !agents?.some(({ name }) => name === draft.agent) && (
              <option value={draft.agent}>{draft.agent}</option>
            )}
            {(agents ?? []).map(({ id, name }) => (
              <option key={id} value={name}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Instruction" hint={filled} error={issueAt(error, 'action.instruction')}>
        {(ids) => (
          <TextArea
            {...ids}
            required
            rows={4}
            value={draft.text}
            onChange={({ target }) => change({ text: target.value })}
          />
        )}
      </Field>
    </>
  );
}

function MessageFields({ draft, change, error }: EditorProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Where">
          {(ids) => (
            <Select
              {...ids}
              value={draft.place}
              onChange={({ target }) => change({ place: target.value as TriggerDraft['place'] })}
            >
              <option value="session">In a session</option>
              <option value="space">In a space</option>
            </Select>
          )}
        </Field>
        <Field
          label="Which"
          hint="An id, or {{document.chatId}}."
          error={issueAt(error, `action.${draft.place}`)}
        >
          {(ids) => (
            <Input
              {...ids}
              required
              value={draft.placeId}
              onChange={({ target }) => change({ placeId: target.value })}
              className="font-mono text-xs"
            />
          )}
        </Field>
      </div>
      {draft.place === 'space' && (
        <Field
          label="Who says it"
          hint="A person, by the id of the entity or the name in your system."
          error={issueAt(error, 'action.as')}
        >
          {(ids) => (
            <Input {...ids} value={draft.as} onChange={({ target }) => change({ as: target.value })} />
          )}
        </Field>
      )}
      <Field label="Text" hint={filled} error={issueAt(error, 'action.text')}>
        {(ids) => (
          <TextArea
            {...ids}
            required
            rows={4}
            value={draft.text}
            onChange={({ target }) => change({ text: target.value })}
          />
        )}
      </Field>
      <Checkbox
        label="Also where others than the user of the document can read it"
        checked={draft.crossUser}
        onChange={({ target }) => change({ crossUser: target.checked })}
      />
    </>
  );
}
