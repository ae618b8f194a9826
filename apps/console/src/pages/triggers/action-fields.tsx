import { Checkbox, SelectField, TextAreaField, TextField } from '../../blocks/field.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { Card } from '../../blocks/page.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import { useAgents } from '../../data/names.ts';
import { SigningSecrets } from './signing-secrets.tsx';
import type { EditorProps } from './trigger-editor.tsx';

const filled = 'Filled in: {{document.field}}, {{before.field}}, {{event.type}}, {{event.path}}.';

/** What it does. */
export function ActionFields(props: EditorProps) {
  const { draft, change } = props;
  return (
    <Card title="What it does">
      <div className="flex flex-col gap-4">
        <SelectField
          label="Action"
          value={draft.type}
          onChange={(type) => change({ type })}
          options={[
            ['webhook', 'Call a webhook'],
            ['run', 'Start a run of an agent'],
            ['message', 'Say something in a session or a space'],
          ]}
        />
        {draft.type === 'webhook' && <WebhookFields {...props} />}
        {draft.type === 'run' && <RunFields {...props} />}
        {draft.type === 'message' && <MessageFields {...props} />}
      </div>
    </Card>
  );
}

function WebhookFields({ draft, change }: EditorProps) {
  return (
    <>
      <TextField
        label="Address"
        hint="Paths that start with / refer to this server."
        path="action.url"
        required
        placeholder="https://example.com/hooks"
        mono
        value={draft.url}
        onChange={(url) => change({ url })}
      />
      <Pairs
        label="Headers"
        names="Header"
        add="Add header"
        path="action.headers"
        value={draft.headers}
        onChange={(headers) => change({ headers })}
      />
      <SecretsNamed texts={draft.headers} />
      <SigningSecrets value={draft.secrets} onChange={(secrets) => change({ secrets })} />
      <Issue path="action.secrets" />
    </>
  );
}

function RunFields({ draft, change }: EditorProps) {
  const agents = useAgents();
  return (
    <>
      <SelectField
        label="Agent"
        path="action.agent"
        required
        first="Choose an agent…"
        value={draft.agent}
        onChange={(agent) => change({ agent })}
        options={(agents ?? []).map(({ name }) => [name, name])}
      />
      <TextAreaField
        label="Instruction"
        hint={filled}
        path="action.instruction"
        required
        rows={4}
        value={draft.text}
        onChange={(text) => change({ text })}
      />
    </>
  );
}

function MessageFields({ draft, change }: EditorProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Where"
          value={draft.place}
          onChange={(place) => change({ place })}
          options={[
            ['session', 'In a session'],
            ['space', 'In a space'],
          ]}
        />
        <TextField
          label="Which"
          hint="An id, or {{document.chatId}}."
          path={`action.${draft.place}`}
          required
          mono
          value={draft.placeId}
          onChange={(placeId) => change({ placeId })}
        />
      </div>
      {draft.place === 'space' && (
        <TextField
          label="Who says it"
          hint="A person, by the id of the entity or the name in your system."
          path="action.as"
          value={draft.as}
          onChange={(as) => change({ as })}
        />
      )}
      <TextAreaField
        label="Text"
        hint={filled}
        path="action.text"
        required
        rows={4}
        value={draft.text}
        onChange={(text) => change({ text })}
      />
      <Checkbox
        label="Also where others than the user of the document can read it"
        checked={draft.crossUser}
        onChange={(crossUser) => change({ crossUser })}
      />
    </>
  );
}
