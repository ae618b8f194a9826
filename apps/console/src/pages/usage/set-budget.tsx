import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { type Choosable, ChooseOne } from '../../blocks/choose-one.tsx';
import { Field, SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
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
  return (
    <FormDialog
      onClose={onClose}
      title={budget ? `Budget of ${titleOf(budget)}` : 'Set budget'}
      submit="Set budget"
      act={async () => {
        const params = budget
          ? { scope: budget.scope as Scope, scopeId: budget.scopeId, unit }
          : {
              scope,
              scopeId: scope === 'project' ? (await troupe.system.get()).project.id : (which?.id ?? ''),
              unit,
            };
        return troupe.usage.setBudget({ params, body: { amount: Number(amount), onExhausted } });
      }}
      changes="usage"
      onDone={(set) => {
        say(`The budget of ${titleOf(set)} is ${formatAmount(set.unit, set.amount)}.`);
        onClose();
      }}
    >
      {budget ? (
        <SoFar budget={budget} />
      ) : (
        <>
          <SelectField
            label="For"
            hint="Limits all its runs and their tasks together."
            value={scope}
            onChange={(value) => {
              setScope(value);
              setWhich(null);
            }}
            options={[
              ['project', 'The whole project'],
              ['agent', 'An agent'],
              ['space', 'A space'],
              ['session', 'A session'],
            ]}
          />
          {scope !== 'project' && (
            <Field key={scope} label={labels[scope]}>
              {(ids) => (
                <ChooseOne
                  {...ids}
                  value={which}
                  onChange={setWhich}
                  find={budgetFor[scope]}
                  queryKey={['usage', 'budgets', 'for', scope]}
                  none={`No ${scope}s yet.`}
                />
              )}
            </Field>
          )}
          <SelectField
            label="Counts"
            value={unit}
            onChange={setUnit}
            options={[
              ['tokens', 'Tokens, input and output'],
              ['cost', 'Cost, by the models’ prices'],
            ]}
          />
        </>
      )}
      <TextField
        label="Amount"
        hint={`${unit === 'tokens' ? 'In tokens.' : 'In the unit of the prices; a model without prices costs nothing.'} ${
          budget ? 'With what is spent already.' : 'What was used before does not count.'
        }`}
        path="amount"
        type="number"
        inputMode="decimal"
        required
        min={0}
        max={9_000_000_000}
        step={unit === 'tokens' ? 1 : 'any'}
        value={amount}
        onChange={setAmount}
      />
      <SelectField
        label="When it is used up"
        path="onExhausted"
        value={onExhausted}
        onChange={setOnExhausted}
        options={[
          ['stop', 'Runs are canceled'],
          ['fallback', 'Runs take their agent’s next model'],
          ['wait', 'Runs wait until it is raised'],
        ]}
      />
    </FormDialog>
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
