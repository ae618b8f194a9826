import { TextAreaField } from '../../../blocks/field.tsx';
import { JsonField } from '../../../blocks/json-field.tsx';
import type { Definition } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import { RouteForm } from './route-form.tsx';

/** Of the whole network: routes by keyboard, and what an answer must look like. */
export function NetworkPanel({ draft }: { draft: Draft }) {
  return (
    <div className="flex flex-col gap-5 p-4">
      <p className="text-sm text-muted">Select an agent or a route to see and change all of it.</p>
      {!draft.isFixed && <RouteForm draft={draft} />}
      <ContractForm draft={draft} />
    </div>
  );
}

/** What an answer of the network must look like. */
export function ContractForm({ draft }: { draft: Draft }) {
  const { definition, edit, isFixed } = draft;
  const { response } = definition;
  const set = (change: Partial<Definition['response']>, tag: string) =>
    edit((now) => ({ ...now, response: { ...now.response, ...change } }), `response ${tag}`);
  return (
    // What is written as text is read anew where it changed elsewhere.
    <fieldset key={draft.base.updatedAt} disabled={isFixed} className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 text-xs font-semibold">Contract: what an answer must look like</legend>
      <JsonField
        label="Schema"
        hint="JSON Schema of the payload. Empty: anything."
        value={response.schema}
        empty={null}
        onChange={(schema, isValid) => isValid && isObject(schema) && set({ schema }, 'schema')}
      />
      <TextAreaField
        label="Guidance"
        hint="What the agents are told about it."
        rows={2}
        value={response.guidance ?? ''}
        onChange={(value) => set({ guidance: value || null }, 'guidance')}
      />
      <JsonField
        label="Example"
        value={response.example}
        empty={null}
        onChange={(example, isValid) => isValid && set({ example: example as never }, 'example')}
      />
    </fieldset>
  );
}

function isObject(value: unknown): value is Definition['response']['schema'] {
  return value === null || (typeof value === 'object' && !Array.isArray(value));
}
