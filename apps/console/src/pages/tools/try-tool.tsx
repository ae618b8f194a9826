import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { ToolOutput } from '@troupe/ui';
import { PlugZap } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CodeBlock } from '../../blocks/code-block.tsx';
import { Checkbox } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import { SchemaFields } from '../../blocks/schema-fields.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration } from '../../data/format.ts';
import { messageOf } from '../../data/issues.ts';

type Arguments = Record<string, Api.Json>;

/** Whether calls would reach what executes them, and one call made by hand. As the tool is saved. */
export function TryTool({ tool }: { tool: Api.Tool }) {
  const isAnswered = tool.kind === 'client' || tool.kind === 'ui';
  const isRun = tool.kind === 'network' || tool.kind === 'agent';
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {!isAnswered && <Reach tool={tool} />}
      {isAnswered || isRun ? (
        <Card title="Try it">
          <p className="text-sm text-muted">
            {isRun
              ? 'It begins a run, so it cannot be tried alone. Give it to an agent and talk to that one.'
              : 'It is answered outside of the server, so it cannot be tried alone. Give it to an agent and talk to that one; its calls are in the inbox.'}
          </p>
        </Card>
      ) : (
        <Call tool={tool} />
      )}
    </div>
  );
}

function Reach({ tool }: { tool: Api.Tool }) {
  const test = useMutation({
    mutationFn: () => troupe.tools.test({ params: { toolId: tool.id }, body: {} }),
  });
  return (
    <Card
      title="Does it work?"
      actions={
        <Button size="small" busy={test.isPending} icon={PlugZap} onClick={() => test.mutate()}>
          Test
        </Button>
      }
    >
      {test.error ? (
        <Notice tone="bad">{messageOf(test.error)}</Notice>
      ) : test.data ? (
        <Notice tone={test.data.ok ? 'good' : 'bad'}>
          {test.data.ok ? 'It can be reached.' : test.data.error?.message}
          <span className="mt-1 block text-xs opacity-80">
            Looked at, in {formatDuration(test.data.durationMs)}: {test.data.checked}
          </span>
          {test.data.error && <code className="block font-mono text-2xs">{test.data.error.code}</code>}
        </Notice>
      ) : (
        <p className="text-sm text-muted">
          Looks whether calls would reach what executes them, without making one.
        </p>
      )}
    </Card>
  );
}

function Call({ tool }: { tool: Api.Tool }) {
  const [values, setValues] = useState<Arguments>({});
  const [invalid, setInvalid] = useState(false);
  const [asJson, setAsJson] = useState(Object.keys(tool.inputSchema.properties ?? {}).length === 0);
  const [trial, setTrial] = useState<Api.ToolTrial | null>(null);
  return (
    <Card
      title="Try it"
      actions={
        <Checkbox
          label="As JSON"
          checked={asJson}
          onChange={(checked) => {
            setAsJson(checked);
            setInvalid(false);
          }}
        />
      }
    >
      <Form
        label="Try the tool"
        submit="Call tool"
        isIncomplete={invalid}
        act={() => troupe.tools.try({ params: { toolId: tool.id }, body: { arguments: values } })}
        onDone={setTrial}
      >
        {asJson ? (
          <JsonField
            label="Arguments"
            value={values}
            onChange={(next, isValid) => {
              const isUsable = isValid && typeof next === 'object' && next !== null && !Array.isArray(next);
              setInvalid(!isUsable);
              if (isUsable) setValues(next as Arguments);
            }}
          />
        ) : (
          <SchemaFields
            schema={tool.inputSchema}
            value={values}
            onChange={(next, wrong) => {
              setValues(next as Arguments);
              setInvalid(wrong.length > 0);
            }}
          />
        )}
        <p className="text-xs text-faint">
          {tool.effect === 'pure' ? 'The call has no effect.' : 'The call takes effect, without approval.'}
        </p>
      </Form>
      {trial && <Trial trial={trial} tool={tool.displayName ?? tool.name} />}
    </Card>
  );
}

function Trial({ trial, tool }: { trial: Api.ToolTrial; tool: string }) {
  const { request } = trial;
  return (
    <section aria-label="What became of it" className="mt-4 flex flex-col gap-3">
      {request && (
        <div>
          <p className="mb-1 text-xs font-medium text-muted">Sent</p>
          <CodeBlock
            label="What was sent"
            text={[
              `${request.method} ${request.url}`,
              ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
              ...(request.body === null ? [] : ['', request.body]),
            ].join('\n')}
          />
        </div>
      )}
      <div>
        <p className="mb-1 text-xs font-medium text-muted">
          What the model gets, after {formatDuration(trial.durationMs)}
        </p>
        {trial.error ? (
          <Notice tone="bad">
            {trial.error.message}
            <code className="block font-mono text-2xs">{trial.error.code}</code>
          </Notice>
        ) : (
          <ToolOutput output={trial.output ?? null} tool={tool} />
        )}
      </div>
    </section>
  );
}
