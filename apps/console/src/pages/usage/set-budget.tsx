import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { type Choosable, ChooseOne } from '../../blocks/choose-one.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { budgetFor } from './budget-for.ts';
import { formatAmount, titleOf } from './budget-words.ts';

type Scope = 'project' | 'agent' | 'space' | 'session';

/** A new budget, or another amount for one. */
export function SetBudget({ budget, onClose }: { budget: Api.Budget | null; onClose: () => void }) {
  const [scope, setScope] = useState<Scope>('project');
  const [which, setWhich] = useState<Choosable | null>(null);
  const [unit, setUnit] = useState<Api.Budget['unit']>(budget?.unit ?? 'tokens');
  const [amount, setAmount] = useState(budget ? String(budget.amount) : '');
  const [onExhausted, setOnExhausted] = useState<Api.Budget['onExhausted']>(budget?.onExhausted ?? 'stop');
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: async () => {
      const params = budget
        ? { scope: budget.scope as Scope, scopeId: budget.scopeId, unit }
        : {
            scope,
            scopeId: scope === 'project' ? (await troupe.system.get()).project.id : (which?.id ?? ''),
            unit,
          };
      return troupe.usage.setBudget({ params, body: { amount: Number(amount), onExhausted } });
    },
    onSuccess: async (set) => {
      say(`The budget of ${titleOf(set)} is ${formatAmount(set.unit, set.amount)}.`);
      await client.invalidateQueries({ queryKey: ['usage', 'budgets'] });
      onClose();
    },
  });
  const rest = restOf(save.error, ['amount', 'onExhausted']);
  return (
    <Dialog open onClose={onClose} title={budget ? `Budget of ${titleOf(budget)}` : 'Set a budget'}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {budget ? (
          <SoFar budget={budget} />
        ) : (
          <>
            <Field label="For" hint="All its runs together, and the tasks that they give.">
              {(ids) => (
                <Select
                  {...ids}
                  value={scope}
                  onChange={({ target }) => {
                    setScope(target.value as Scope);
                    setWhich(null);
                  }}
                >
                  <option value="project">The whole project</option>
                  <option value="agent">An agent</option>
                  <option value="space">A space</option>
                  <option value="session">A session</option>
                </Select>
              )}
            </Field>
            {scope !== 'project' && (
              <Field key={scope} label={labels[scope]}>
                {(ids) => (
                  <ChooseOne
                    {...ids}
                    value={which}
                    onChange={setWhich}
                    find={budgetFor[scope]}
                    queryKey={['usage', 'budgets', 'for', scope]}
                    none={`There is no ${scope} yet.`}
                  />
                )}
              </Field>
            )}
            <Field label="Counts">
              {(ids) => (
                <Select
                  {...ids}
                  value={unit}
                  onChange={({ target }) => setUnit(target.value as Api.Budget['unit'])}
                >
                  <option value="tokens">Tokens, read and written</option>
                  <option value="cost">Cost, by the models’ prices</option>
                </Select>
              )}
            </Field>
          </>
        )}
        <Field
          label="Amount"
          hint={`${unit === 'tokens' ? 'In tokens.' : 'In the unit of the prices; a model without prices costs nothing.'} ${
            budget ? 'With what is spent already.' : 'What was used before does not count.'
          }`}
          error={issueAt(save.error, 'amount')}
        >
          {(ids) => (
            <Input
              {...ids}
              type="number"
              inputMode="decimal"
              required
              min={0}
              max={9_000_000_000}
              step={unit === 'tokens' ? 1 : 'any'}
              value={amount}
              onChange={({ target }) => setAmount(target.value)}
            />
          )}
        </Field>
        <Field label="When it is used up" error={issueAt(save.error, 'onExhausted')}>
          {(ids) => (
            <Select
              {...ids}
              value={onExhausted}
              onChange={({ target }) => setOnExhausted(target.value as Api.Budget['onExhausted'])}
            >
              <option value="stop">Runs are canceled</option>
              <option value="fallback">Runs take their agent’s next model</option>
              <option value="wait">Runs wait until it is raised</option>
            </Select>
          )}
        </Field>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={save.isPending}>
            Set it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function SoFar({ budget: { id, unit } }: { budget: Api.Budget }) {
  // What is spent goes on while the dialog is open.
  const { data } = useQuery({
    queryKey: ['usage', 'budgets'],
    queryFn: () => troupe.usage.budgets(),
    refetchInterval: 3_000,
    refetchOnMount: 'always',
  });
  const now = data?.data.find((one) => one.id === id);
  if (!now) return null;
  return (
    <p className="text-sm text-muted">
      {formatAmount(unit, now.spent)} of {formatAmount(unit, now.amount)} spent; that stays.
      {now.waiting > 0 && (
        <span className="text-warn">
          {' '}
          {now.waiting === 1 ? '1 run waits for it.' : `${now.waiting} runs wait for it.`}
        </span>
      )}
    </p>
  );
}

const labels = { agent: 'Agent', space: 'Space', session: 'Session' };
