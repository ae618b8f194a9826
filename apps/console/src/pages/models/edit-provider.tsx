import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Checkbox, SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';
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
  return (
    <FormDialog
      onClose={onClose}
      title={provider ? `Edit ${provider.name}` : 'Add provider'}
      submit={provider ? 'Save provider' : 'Add provider'}
      act={() => {
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
      }}
      onDone={(saved) => onSaved(saved, !provider)}
    >
      {!provider && (
        <SelectField
          label="Kind"
          hint={kindWords[kind].about}
          value={kind}
          onChange={(next) => {
            if (name === '' || name === kindWords[kind].name) setName(kindWords[next].name);
            setKind(next);
          }}
          options={offered.map((one) => [one, kindWords[one].name])}
        />
      )}
      <TextField label="Name" path="name" required maxLength={200} value={name} onChange={setName} />
      <TextField
        label="API key"
        hint={
          provider?.keySet
            ? 'A key is set. A new key replaces it.'
            : isCompatible
              ? 'If the server requires one. Encrypted, and never shown again.'
              : 'Encrypted, and never shown again.'
        }
        path="apiKey"
        type="password"
        autoComplete="off"
        placeholder={provider?.keySet ? '••••••••' : ''}
        value={apiKey}
        onChange={setApiKey}
      />
      {provider?.keySet && apiKey === '' && (
        <Checkbox label="Remove the key" checked={removesKey} onChange={setRemovesKey} />
      )}
      <TextField
        label="Base URL"
        hint={
          isCompatible
            ? 'The URL before /chat/completions, such as http://localhost:11434/v1 for Ollama.'
            : 'Empty: the public API of the provider.'
        }
        path="baseUrl"
        required={isCompatible}
        placeholder={isCompatible ? 'http://localhost:11434/v1' : ''}
        mono
        value={baseUrl}
        onChange={setBaseUrl}
      />
      {provider && <Checkbox label="Disable this provider" checked={isDisabled} onChange={setDisabled} />}
    </FormDialog>
  );
}
