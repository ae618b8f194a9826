import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Checkbox, Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { kindWords } from './words.ts';

const offered: Api.ProviderKind[] = ['openai', 'anthropic', 'openai_compatible'];

/** A provider with its key, which is encrypted and never shown again. */
export function EditProvider({
  provider,
  onClose,
  onSaved,
}: {
  provider: Api.Provider | null;
  onClose: () => void;
  onSaved: (provider: Api.Provider, isNew: boolean) => void;
}) {
  const [kind, setKind] = useState<Api.ProviderKind>(provider?.kind ?? 'openai');
  const [name, setName] = useState(provider?.name ?? kindWords.openai.name);
  const [baseUrl, setBaseUrl] = useState(provider?.baseUrl ?? '');
  const [apiKey, setApiKey] = useState('');
  const [removesKey, setRemovesKey] = useState(false);
  const [isDisabled, setDisabled] = useState(provider?.status === 'disabled');
  const isCompatible = kind === 'openai_compatible';
  const save = useMutation({
    mutationFn: () => {
      const address = baseUrl.trim() || null;
      if (!provider)
        return troupe.models.createProvider({
          body: { kind, name, baseUrl: address, apiKey: apiKey.trim() || null },
        });
      return troupe.models.updateProvider({
        params: { providerId: provider.id },
        body: {
          name,
          status: isDisabled ? 'disabled' : 'active',
          ...(address === provider.baseUrl ? {} : { baseUrl: address }),
          ...(apiKey.trim() ? { apiKey: apiKey.trim() } : removesKey ? { apiKey: null } : {}),
        },
      });
    },
    onSuccess: (saved) => onSaved(saved, !provider),
  });
  const { error } = save;
  const rest = restOf(error, ['name', 'baseUrl', 'apiKey']);
  return (
    <Dialog open onClose={onClose} title={provider ? `Edit ${provider.name}` : 'Add a provider'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {!provider && (
          <Field label="Kind" hint={kindWords[kind].about}>
            {(ids) => (
              <Select
                {...ids}
                value={kind}
                onChange={({ target }) => {
                  const next = target.value as Api.ProviderKind;
                  if (name === '' || name === kindWords[kind].name) setName(kindWords[next].name);
                  setKind(next);
                }}
              >
                {offered.map((one) => (
                  <option key={one} value={one}>
                    {kindWords[one].name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field label="Name" error={issueAt(error, 'name')}>
          {(ids) => (
            <Input
              {...ids}
              required
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field
          label="API key"
          hint={
            provider?.keySet
              ? 'One is set and never shown. A new one replaces it.'
              : isCompatible
                ? 'Where the server asks for one. Encrypted, and never shown again.'
                : 'Encrypted, and never shown again.'
          }
          error={issueAt(error, 'apiKey')}
        >
          {(ids) => (
            <Input
              {...ids}
              type="password"
              autoComplete="off"
              placeholder={provider?.keySet ? '••••••••' : ''}
              value={apiKey}
              onChange={({ target }) => setApiKey(target.value)}
            />
          )}
        </Field>
        {provider?.keySet && apiKey === '' && (
          <Checkbox
            label="Remove the key"
            checked={removesKey}
            onChange={({ target }) => setRemovesKey(target.checked)}
          />
        )}
        <Field
          label="Base URL"
          hint={
            isCompatible
              ? 'What comes before /chat/completions: http://localhost:11434/v1 for Ollama.'
              : 'Empty: the address of the provider itself.'
          }
          error={issueAt(error, 'baseUrl')}
        >
          {(ids) => (
            <Input
              {...ids}
              required={isCompatible}
              placeholder={isCompatible ? 'http://localhost:11434/v1' : ''}
              value={baseUrl}
              onChange={({ target }) => setBaseUrl(target.value)}
              className="font-mono text-xs"
            />
          )}
        </Field>
        {provider && (
          <Checkbox
            label="Disabled: it is not called"
            checked={isDisabled}
            onChange={({ target }) => setDisabled(target.checked)}
          />
        )}
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {provider ? 'Save' : 'Add'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
