import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Gauge, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { asList, TableList } from '../../blocks/list.tsx';
import { Empty } from '../../blocks/states.tsx';
import type { Column } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { shortId } from '../../data/format.ts';
import { exhausted, formatAmount, scopes, titleOf } from './budget-words.ts';
import { SetBudget } from './set-budget.tsx';
import { Share } from './share-table.tsx';

/** Budgets, with the share that is spent. */
export function Budgets() {
  const [set, setSet] = useState<Api.Budget | 'new' | null>(null);
  const [gone, setGone] = useState<Api.Budget | null>(null);
  const budgets = useQuery({
    queryKey: ['usage', 'budgets'],
    queryFn: () => troupe.usage.budgets(),
    refetchInterval: 30_000,
  });
  return (
    <>
      <TableList
        title="Budgets"
        actions={
          <Button size="small" icon={Plus} onClick={() => setSet('new')}>
            Set budget
          </Button>
        }
        list={asList({ ...budgets, data: budgets.data?.data })}
        empty={
          <Empty icon={Gauge} title="No budgets yet" className="py-8!">
            A budget limits many runs together: all runs of the project, an agent, a space or a session. The
            limits of an agent apply to each run alone.
          </Empty>
        }
        label="Budgets"
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'For',
            cellClass: 'max-w-64 truncate',
            title: ({ name, scopeId }) => name ?? scopeId,
            cell: ({ scope, scopeId, name }) => (
              <>
                <span className="text-muted">{scopes[scope]}</span> {name ?? shortId(scopeId)}
              </>
            ),
          },
          {
            name: 'Used',
            className: 'w-48',
            cell: ({ spent, amount }) => {
              const share = amount > 0 ? spent / amount : 1;
              return <Share share={share} tone={share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent'} />;
            },
          },
          amountColumn('Spent', 'spent'),
          amountColumn('Reserved', 'reserved'),
          amountColumn('Amount', 'amount'),
          {
            name: 'When exhausted',
            cellClass: 'whitespace-nowrap text-muted',
            cell: ({ onExhausted, waiting }) => (
              <>
                {exhausted[onExhausted]}
                {waiting > 0 && <span className="text-warn">, {waiting} now</span>}
              </>
            ),
          },
          {
            name: 'Actions',
            isAction: true,
            // Budgets of run trees are set by the request that starts the run.
            cell: (budget) =>
              budget.scope !== 'run_tree' && (
                <>
                  <IconButton
                    label={`Change the budget of ${titleOf(budget)}`}
                    icon={Pencil}
                    onClick={() => setSet(budget)}
                  />
                  <IconButton
                    label={`Delete the budget of ${titleOf(budget)}`}
                    icon={Trash2}
                    onClick={() => setGone(budget)}
                  />
                </>
              ),
          },
        ]}
      />
      {set && <SetBudget budget={set === 'new' ? null : set} onClose={() => setSet(null)} />}
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={gone ? `Delete the budget of ${titleOf(gone)}?` : ''}
        label="Delete budget"
        changes="usage"
        act={async () => {
          const { scope, scopeId, unit } = gone!;
          if (scope !== 'run_tree') await troupe.usage.deleteBudget({ params: { scope, scopeId, unit } });
        }}
      >
        These runs are no longer limited together, and waiting runs continue. A new budget starts at zero.
      </Confirm>
    </>
  );
}

function amountColumn(name: string, field: 'spent' | 'reserved' | 'amount'): Column<Api.Budget> {
  return {
    name,
    isRight: true,
    cellClass: field === 'reserved' ? 'whitespace-nowrap text-muted' : 'whitespace-nowrap',
    cell: (budget) => formatAmount(budget.unit, budget[field]),
  };
}
