import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { SelectField } from '../../../blocks/field.tsx';
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
        <SelectField
          label="From"
          value={from}
          onChange={setFrom}
          first="Choose…"
          options={keys.map((key) => [key, key])}
        />
        <SelectField
          label="To"
          disabled={from === ''}
          value={to}
          onChange={setTo}
          first="Choose…"
          options={targets.map((key) => [key, key])}
        />
      </div>
      <Button type="submit" className="self-start" disabled={!isReady}>
        Draw
      </Button>
    </form>
  );
}
