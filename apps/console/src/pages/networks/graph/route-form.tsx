import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Field, Select } from '../../../blocks/field.tsx';
import { hasRoute, sameKey, setRoute } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';

/** Draws a route without a mouse. */
export function RouteForm({ draft }: { draft: Draft }) {
  const { definition } = draft;
  const keys = definition.agents.map(({ key }) => key);
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const targets = keys.filter((key) => !sameKey(key, from) && !hasRoute(definition, from, key));
  const isReady = keys.includes(from) && targets.includes(to);
  const draw = (event: FormEvent) => {
    event.preventDefault();
    if (!isReady) return;
    draft.edit((now) => setRoute(now, from, to, true));
    setTo('');
  };
  if (keys.length < 2) return null;
  return (
    <form onSubmit={draw} aria-label="Draw a route" className="flex flex-col gap-2">
      <h3 className="text-xs font-semibold">Draw a route</h3>
      <div className="grid grid-cols-2 gap-2">
        <Field label="From">
          {(ids) => (
            <Select {...ids} value={from} onChange={({ target }) => setFrom(target.value)}>
              <option value="">Choose…</option>
              {keys.map((key) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="To">
          {(ids) => (
            <Select {...ids} value={to} disabled={from === ''} onChange={({ target }) => setTo(target.value)}>
              <option value="">Choose…</option>
              {targets.map((key) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <Button type="submit" className="self-start" disabled={!isReady}>
        Draw
      </Button>
    </form>
  );
}
