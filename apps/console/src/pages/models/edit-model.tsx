import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Checkbox, Field, Input } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { kindWords } from './words.ts';

const numbers = [
  ['inputPrice', 'Price of a million input tokens', 'any', 0],
  ['outputPrice', 'Price of a million output tokens', 'any', 0],
  ['contextTokens', 'Tokens that it reads at once', 1, 1],
  ['maxOutputTokens', 'Tokens of the longest answer', 1, 1],
] as const;
type NumberField = (typeof numbers)[number][0];

/** A model of a provider, with its prices and limits. */
export function EditModel({
  provider,
  model,
  isFirst,
  onClose,
  onSaved,
}: {
  provider: Api.Provider;
  model: Api.Model | null;
  /** No model is the default yet. */
  isFirst: boolean;
  onClose: () => void;
  onSaved: () => void;
}) {
  const [modelId, setModelId] = useState(model?.modelId ?? '');
  const [displayName, setDisplayName] = useState(model?.displayName ?? '');
  const [isDefault, setDefault] = useState(model?.isDefault ?? isFirst);
  const [values, setValues] = useState<Record<NumberField, string>>({
    inputPrice: String(model?.inputPrice ?? ''),
    outputPrice: String(model?.outputPrice ?? ''),
    contextTokens: String(model?.contextTokens ?? ''),
    maxOutputTokens: String(model?.maxOutputTokens ?? ''),
  });
  const save = useMutation({
    mutationFn: () => {
      const given = (field: NumberField) => (values[field] === '' ? undefined : Number(values[field]));
      const body = {
        inputPrice: given('inputPrice') ?? 0,
        outputPrice: given('outputPrice') ?? 0,
        contextTokens: given('contextTokens') ?? null,
        maxOutputTokens: given('maxOutputTokens') ?? 4096,
        ...(displayName.trim() ? { displayName: displayName.trim() } : {}),
      };
      return model
        ? troupe.models.updateModel({
            params: { modelId: model.id },
            body: { ...body, ...(isDefault === model.isDefault ? {} : { isDefault }) },
          })
        : troupe.models.createModel({
            params: { providerId: provider.id },
            body: { ...body, modelId, isDefault },
          });
    },
    onSuccess: onSaved,
  });
  const { error } = save;
  const rest = restOf(error, ['modelId', 'displayName', ...numbers.map(([field]) => field)]);
  return (
    <Dialog
      open
      onClose={onClose}
      title={model ? `Edit ${model.displayName}` : `Add a model of ${provider.name}`}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {!model && (
          <Field label="Model" hint="What the provider calls it." error={issueAt(error, 'modelId')}>
            {(ids) => (
              <>
                <Input
                  {...ids}
                  required
                  maxLength={200}
                  list={`${ids.id}-known`}
                  placeholder={kindWords[provider.kind].models[0]}
                  value={modelId}
                  onChange={({ target }) => setModelId(target.value)}
                  className="font-mono text-xs"
                />
                <datalist id={`${ids.id}-known`}>
                  {kindWords[provider.kind].models.map((one) => (
                    <option key={one} value={one} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
        )}
        <Field label="Name for people" error={issueAt(error, 'displayName')}>
          {(ids) => (
            <Input
              {...ids}
              maxLength={200}
              placeholder={modelId}
              value={displayName}
              onChange={({ target }) => setDisplayName(target.value)}
            />
          )}
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          {numbers.map(([field, label, step, min]) => (
            <Field key={field} label={label} error={issueAt(error, field)}>
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  step={step}
                  min={min}
                  placeholder={
                    { inputPrice: '0', outputPrice: '0', contextTokens: '128000', maxOutputTokens: '4096' }[
                      field
                    ]
                  }
                  value={values[field]}
                  onChange={({ target }) => setValues({ ...values, [field]: target.value })}
                />
              )}
            </Field>
          ))}
        </div>
        <p className="text-xs text-faint">
          Prices are in your currency; without them costs are 0. Look them up at the provider: they change.
        </p>
        <Checkbox
          label="The default model of the project"
          checked={isDefault}
          disabled={model?.isDefault}
          onChange={({ target }) => setDefault(target.checked)}
        />
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{model ? 'Cancel' : 'Not now'}</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {model ? 'Save' : 'Add'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
