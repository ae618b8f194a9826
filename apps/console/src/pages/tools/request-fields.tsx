import type { Api } from '@troupe/sdk';
import { SelectField, TextField } from '../../blocks/field.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import type { ToolFormProps } from './tool-form.tsx';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** What is sent, and what of the answer the model gets. */
export function RequestFields({ draft, change, invalid }: ToolFormProps) {
  return (
    <>
      <Card title="Request">
        <div className="flex flex-col gap-4">
          <p className="text-xs text-muted">
            Texts may hold <code className="font-mono">{'{{input.city}}'}</code>, a value of the call, and{' '}
            <code className="font-mono">{'{{secrets.NAME}}'}</code>, which is never shown.
          </p>
          <div className="flex flex-wrap gap-2">
            <SelectField
              label="Method"
              className="w-28"
              value={draft.method}
              onChange={(method) => change({ method })}
              options={methods.map((method) => [method, method])}
            />
            <TextField
              label="Address"
              path="request.url"
              className="flex-1 basis-64"
              required
              placeholder="https://api.example.com/current?city={{input.city}}"
              mono
              value={draft.url}
              onChange={(url) => change({ url })}
            />
          </div>
          <Pairs
            label="Headers"
            names="Header"
            add="Add header"
            path="request.headers"
            value={draft.headers}
            onChange={(headers) => change({ headers })}
          />
          <Pairs
            label="Query"
            names="Parameter"
            add="Add parameter"
            path="request.query"
            value={draft.query}
            onChange={(query) => change({ query })}
          />
          {draft.method !== 'GET' && draft.method !== 'HEAD' && (
            <JsonField
              label="Body"
              hint={
                draft.method === 'DELETE'
                  ? 'JSON. Empty: none.'
                  : 'JSON. Empty: the arguments of the call as JSON.'
              }
              value={draft.body}
              empty={null}
              path="request.body"
              onChange={(body, isValid) => {
                invalid('body', !isValid);
                if (isValid) change({ body: body === null ? undefined : (body as Api.Json) });
              }}
            />
          )}
          <TextField
            label="Secret"
            hint="Sent as a bearer token, unless the request uses it elsewhere."
            path="secretRef"
            value={draft.secretRef}
            onChange={(secretRef) => change({ secretRef })}
          />
          <SecretsNamed texts={[draft.url, draft.headers, draft.query, draft.body]} />
        </div>
      </Card>
      <Card title="Answer">
        <div className="grid gap-4 sm:grid-cols-2">
          <JsonField
            label="What the model gets of it"
            hint={
              'A JSON Pointer ("/now/temperature"), or several by name ({"celsius": "/now/temperature"}). Empty: status and data.'
            }
            rows={3}
            value={draft.pick}
            empty={null}
            path="response.pick"
            onChange={(pick, isValid) => {
              invalid('pick', !isValid);
              if (isValid) change({ pick: pick === null ? undefined : (pick as Api.Json) });
            }}
          />
          <SelectField
            label="Read it as"
            path="response.as"
            value={draft.as}
            onChange={(as) => change({ as })}
            options={[
              ['auto', 'what its content type says'],
              ['json', 'JSON'],
              ['text', 'text'],
            ]}
          />
        </div>
      </Card>
    </>
  );
}
