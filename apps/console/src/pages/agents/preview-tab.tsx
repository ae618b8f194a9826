import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { CodeBlock } from '../../blocks/code-block.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';
import { formatNumber } from '../../data/format.ts';
import { providersQuery } from '../../data/queries.ts';

/** What a run would get: the whole prompt, the tools as the model sees them, the models, the limits. */
export default function PreviewTab({ agent }: { agent: Api.Agent }) {
  const query = useQuery({
    queryKey: ['agents', 'preview', agent.id, agent.version],
    queryFn: () => troupe.agents.preview({ params: { agentId: agent.id } }),
    staleTime: 0,
  });
  const { data: providers } = useQuery(providersQuery);
  const providerName = (id: string) => providers?.find((one) => one.id === id)?.name ?? id;
  return (
    <Loaded query={query}>
      {({ prompt, tools, models, limits }) => (
        <div className="flex max-w-4xl flex-col gap-4">
          <Card
            title="Prompt"
            actions={
              <span className="text-xs text-faint tabular-nums">
                {formatNumber(prompt.length)} characters, about {formatNumber(Math.ceil(prompt.length / 4))}{' '}
                tokens
              </span>
            }
          >
            {prompt === '' ? (
              <p className="text-sm text-muted">Nothing: the model gets the conversation alone.</p>
            ) : (
              <CodeBlock text={prompt} label="Prompt" />
            )}
          </Card>
          <Card title={`Tools (${tools.length})`} flush>
            {tools.length === 0 ? (
              <p className="p-4 text-sm text-muted">None.</p>
            ) : (
              <ul className="divide-y divide-line">
                {tools.map((tool) => (
                  <li key={tool.name} className="px-4 py-2">
                    <details>
                      <summary className="flex flex-wrap items-center gap-2 rounded-sm text-sm">
                        <span className="font-mono text-xs font-medium">{tool.name}</span>
                        <Tag>{tool.effect}</Tag>
                        {tool.waitsFor && <Tag tone="warn">waits for {tool.waitsFor}</Tag>}
                        <span className="min-w-0 flex-1 basis-64 truncate text-xs text-muted">
                          {tool.description}
                        </span>
                      </summary>
                      <div className="mt-2 flex flex-col gap-2">
                        {tool.description && <p className="text-sm text-muted">{tool.description}</p>}
                        <CodeBlock text={JSON.stringify(tool.inputSchema, null, 2)} label="Schema" />
                      </div>
                    </details>
                  </li>
                ))}
              </ul>
            )}
          </Card>
          <div className="grid gap-4 md:grid-cols-2">
            <Card title="Models, in their order">
              <ol className="flex list-decimal flex-col gap-1 pl-5 text-sm">
                {models.map(({ provider, model }) => (
                  <li key={`${provider} ${model}`} className="break-words">
                    {model} <span className="text-muted">of {providerName(provider)}</span>
                  </li>
                ))}
              </ol>
            </Card>
            <Card title="Limits">
              <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1 text-sm">
                {Object.entries(limits).map(([name, value]) => (
                  <div key={name} className="contents">
                    <dt className="truncate text-muted">{name}</dt>
                    <dd className="text-right tabular-nums">{value?.toLocaleString('en')}</dd>
                  </div>
                ))}
              </dl>
            </Card>
          </div>
        </div>
      )}
    </Loaded>
  );
}
