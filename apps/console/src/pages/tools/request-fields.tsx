import type { Api } from '@troupe/sdk';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Pairs } from '../../blocks/pairs.tsx';
import { SecretsNamed } from '../../blocks/secrets-named.tsx';
import { issueAt } from '../../data/issues.ts';
import type { ToolFormProps } from './tool-form.tsx';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** What is sent, and what of the answer the model gets. */
export function RequestFields({ draft, change, invalid, error }: ToolFormProps) {
  return (
    <>
      <Card title="Request">
        <div className="flex flex-col gap-4">
          <p className="text-xs text-muted">
            Texts may hold <code className="font-mono">{'{{input.city}}'}</code>, a value of the call, and{' '}
            <code className="font-mono">{'{{secrets.NAME}}'}</code>, which is never shown.
          </p>
          <div className="flex flex-wrap gap-2">
            <Field label="Method" className="w-28">
              {(ids) => (
                <Select
                  {...ids}
                  value={draft.method}
                  onChange={({ target }) => change({ method: target.value as Api.ToolRequest['method'] })}
                >
                  {methods.map((method) => (
                    <option key={method}>{method}</option>
                  ))}
                </Select>
              )}
            </Field>
            <Field label="Address" error={issueAt(error, 'request.url')} className="flex-1 basis-64">
              {(ids) => (
                <Input
                  {...ids}
                  required
                  placeholder="https://api.example.com/current?city={{input.city}}"
                  value={draft.url}
                  onChange={({ target }) => change({ url: target.value })}
                  className="font-mono text-xs"
                />
              )}
            </Field>
          </div>
          <Pairs
            label="Headers"
            names="Header"
            add="Add a header"
            value={draft.headers}
            onChange={(headers) => change({ headers })}
          />
          {issueAt(error, 'request.headers') && (
            <p className="text-xs text-bad">{issueAt(error, 'request.headers')}</p>
          )}
          <Pairs
            label="Query"
            names="Parameter"
            add="Add a parameter"
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
              error={issueAt(error, 'request.body')}
              onChange={(body, isValid) => {
                invalid('body', !isValid);
                if (isValid) change({ body: body === null ? undefined : (body as Api.Json) });
              }}
            />
          )}
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
            error={issueAt(error, 'response.pick')}
            onChange={(pick, isValid) => {
              invalid('pick', !isValid);
              if (isValid) change({ pick: pick === null ? undefined : (pick as Api.Json) });
            }}
          />
          <Field label="Read it as" error={issueAt(error, 'response.as')}>
            {(ids) => (
              <Select
                {...ids}
                value={draft.as}
                onChange={({ target }) => change({ as: target.value as Api.ToolResponse['as'] })}
              >
                <option value="auto">what its content type says</option>
                <option value="json">JSON</option>
                <option value="text">text</option>
              </Select>
            )}
          </Field>
        </div>
      </Card>
    </>
  );
}
