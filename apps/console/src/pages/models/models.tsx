import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Cpu, FlaskConical, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { AddButton, Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import { modelsQuery, providersQuery } from '../../data/queries.ts';
import { systemQuery } from '../../shell/system.ts';
import { DefaultModel } from './default-model.tsx';
import { EditModel } from './edit-model.tsx';
import { EditProvider } from './edit-provider.tsx';
import { ModelTable } from './model-table.tsx';
import { kindWords } from './words.ts';

type Opened =
  | { what: 'provider'; provider: Api.Provider | null }
  | { what: 'model'; provider: Api.Provider; model: Api.Model | null }
  | { what: 'delete'; provider: Api.Provider };

export function ModelsPage() {
  const [opened, setOpened] = useState<Opened | null>(null);
  const client = useQueryClient();
  useLive('models');
  const providers = useQuery(providersQuery);
  const models = useQuery(modelsQuery);
  const isDemo = useQuery(systemQuery).data?.demo ?? false;
  const changed = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['models'] }),
      client.invalidateQueries({ queryKey: ['system'] }),
    ]);
  const add = (
    <AddButton onClick={() => setOpened({ what: 'provider', provider: null })}>Add provider</AddButton>
  );
  const failure = providers.error ?? models.error;
  return (
    <Page
      title="Models"
      about="Providers are where models are called; a model is one of a provider."
      actions={add}
    >
      <div className="flex max-w-5xl flex-col gap-4">
        {isDemo && <DemoExplained />}
        {!providers.data || !models.data ? (
          failure ? (
            <Failure
              error={failure}
              retry={() => {
                void providers.refetch();
                void models.refetch();
              }}
            />
          ) : (
            <Loading />
          )
        ) : providers.data.length === 0 ? (
          <Card>
            <Empty icon={Cpu} title="No providers yet" action={add}>
              Add OpenAI or Anthropic with a key of yours, or any server that speaks Chat Completions: Ollama,
              vLLM, LM Studio, OpenRouter.
            </Empty>
          </Card>
        ) : (
          <>
            <DefaultModel models={models.data} />
            {providers.data.map((provider) => (
              <Card
                key={provider.id}
                flush
                title={provider.name}
                actions={
                  <>
                    <Button
                      size="small"
                      icon={Plus}
                      aria-label={`Add model of ${provider.name}`}
                      onClick={() => setOpened({ what: 'model', provider, model: null })}
                    >
                      Add model
                    </Button>
                    <IconButton
                      label={`Edit ${provider.name}`}
                      icon={Pencil}
                      onClick={() => setOpened({ what: 'provider', provider })}
                    />
                    <IconButton
                      label={`Delete ${provider.name}`}
                      icon={Trash2}
                      onClick={() => setOpened({ what: 'delete', provider })}
                    />
                  </>
                }
              >
                <p className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
                  <Tag>{kindWords[provider.kind].name}</Tag>
                  {provider.status === 'disabled' && <Tag tone="warn">disabled</Tag>}
                  {provider.keySet ? (
                    <Tag tone="good">key is set</Tag>
                  ) : (
                    provider.kind !== 'demo' && (
                      <Tag tone={provider.kind === 'openai_compatible' ? 'quiet' : 'warn'}>no key</Tag>
                    )
                  )}
                  {provider.baseUrl && (
                    <span className="min-w-0 font-mono text-xs break-all text-muted">{provider.baseUrl}</span>
                  )}
                </p>
                <ModelTable
                  provider={provider}
                  models={models.data.filter(({ providerId }) => providerId === provider.id)}
                  onEdit={(model) => setOpened({ what: 'model', provider, model })}
                  onChanged={() => void changed().catch(sayError)}
                />
              </Card>
            ))}
          </>
        )}
      </div>
      {opened?.what === 'provider' && (
        <EditProvider
          provider={opened.provider}
          onClose={() => setOpened(null)}
          onSaved={(provider, isNew) => {
            void changed();
            // A provider without a model does nothing yet.
            setOpened(isNew ? { what: 'model', provider, model: null } : null);
          }}
        />
      )}
      {opened?.what === 'model' && (
        <EditModel
          provider={opened.provider}
          model={opened.model}
          isFirst={(models.data ?? []).every(({ isDefault }) => !isDefault)}
          onClose={() => setOpened(null)}
          onSaved={() => {
            void changed();
            setOpened(null);
          }}
        />
      )}
      {opened?.what === 'delete' && (
        <Confirm
          open
          onClose={() => setOpened(null)}
          title={`Delete provider ${opened.provider.name}?`}
          label="Delete provider"
          act={async () => {
            await troupe.models.deleteProvider({ params: { providerId: opened.provider.id } });
            await changed();
          }}
        >
          This deletes its key too. A provider with models cannot be deleted: delete the models first.
        </Confirm>
      )}
    </Page>
  );
}

function DemoExplained() {
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          <FlaskConical size={15} aria-hidden="true" /> The demo model answers
        </span>
      }
    >
      <p className="text-sm text-muted">
        Nobody chose a model yet, so a few rules in this process answer: they do sums, tell the time, call the
        tools that they are told to, and hand work to other agents. It costs nothing, and nothing leaves this
        machine. To get real answers, add a provider with a key of yours, then a model, and make it the
        default.
      </p>
    </Card>
  );
}
