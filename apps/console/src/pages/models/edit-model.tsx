import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Checkbox, SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';
import { kindWords } from './words.ts';

const numbers = [
  ['inputPrice', 'Price per million input tokens', 'any', 0],
  ['outputPrice', 'Price per million output tokens', 'any', 0],
  ['contextTokens', 'Context window (tokens)', 1, 1],
  ['maxOutputTokens', 'Max output tokens', 1, 1],
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
  const [imageInput, setImageInput] = useState<'' | 'yes' | 'no'>(
    model?.imageInput == null ? '' : model.imageInput ? 'yes' : 'no',
  );
  const [isDefault, setDefault] = useState(model?.isDefault ?? isFirst);
  const [values, setValues] = useState<Record<NumberField, string>>({
    inputPrice: String(model?.inputPrice ?? ''),
    outputPrice: String(model?.outputPrice ?? ''),
    contextTokens: String(model?.contextTokens ?? ''),
    maxOutputTokens: String(model?.maxOutputTokens ?? ''),
  });
  return (
    <FormDialog
      onClose={onClose}
      title={model ? `Edit ${model.displayName}` : `Add model of ${provider.name}`}
      submit={model ? 'Save model' : 'Add model'}
      cancel={model ? 'Cancel' : 'Not now'}
      act={() => {
        const given = (field: NumberField) => (values[field] === '' ? undefined : Number(values[field]));
        const body = {
          inputPrice: given('inputPrice') ?? 0,
          outputPrice: given('outputPrice') ?? 0,
          contextTokens: given('contextTokens') ?? null,
          maxOutputTokens: given('maxOutputTokens') ?? 4096,
          imageInput: imageInput === '' ? null : imageInput === 'yes',
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
      }}
      onDone={onSaved}
    >
      {!model && (
        <TextField
          label="Model"
          hint="The id that the provider uses."
          path="modelId"
          required
          maxLength={200}
          mono
          placeholder={kindWords[provider.kind].models[0]}
          suggestions={kindWords[provider.kind].models}
          value={modelId}
          onChange={setModelId}
        />
      )}
      <TextField
        label="Name for people"
        path="displayName"
        maxLength={200}
        placeholder={modelId}
        value={displayName}
        onChange={setDisplayName}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        {numbers.map(([field, label, step, min]) => (
          <TextField
            key={field}
            label={label}
            path={field}
            type="number"
            step={step}
            min={min}
            placeholder={
              { inputPrice: '0', outputPrice: '0', contextTokens: '128000', maxOutputTokens: '4096' }[field]
            }
            value={values[field]}
            onChange={(value) => setValues({ ...values, [field]: value })}
          />
        ))}
      </div>
      <SelectField
        label="Images"
        hint="Whether the model accepts images. If not, each image is replaced by text."
        path="imageInput"
        first="Default of the provider"
        options={[
          ['yes', 'Takes images'],
          ['no', 'Text only'],
        ]}
        value={imageInput}
        onChange={setImageInput}
      />
      <p className="text-xs text-faint">Prices are in your currency. Without prices, costs are 0.</p>
      <Checkbox
        label="Default model of the project"
        checked={isDefault}
        disabled={model?.isDefault}
        onChange={setDefault}
      />
    </FormDialog>
  );
}
