import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Gauge, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { shortId } from '../../data/format.ts';
import { exhausted, formatAmount, scopes, titleOf } from './budget-words.ts';
import { SetBudget } from './set-budget.tsx';
import { Share } from './share-table.tsx';

/** What is spent of each budget; they are set, raised and deleted here. */
export function Budgets() {
  const client = useQueryClient();
  const [set, setSet] = useState<Api.Budget | 'new' | null>(null);
  const [gone, setGone] = useState<Api.Budget | null>(null);
  const budgets = useQuery({
    queryKey: ['usage', 'budgets'],
    queryFn: () => troupe.usage.budgets(),
    refetchInterval: 30_000,
  });
  const add = (
    <Button size="small" icon={<Plus size={14} aria-hidden="true" />} onClick={() => setSet('new')}>
      Set a budget
    </Button>
  );
  return (
    <Card title="Budgets" flush actions={add}>
      <Loaded query={budgets}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={<Gauge size={20} aria-hidden="true" />} title="No budgets" className="py-8!">
              The limits of an agent hold for each of its runs. A budget holds for many together: all of the
              project, of an agent, a space or a session.
            </Empty>
          ) : (
            <Table
              label="Budgets"
              head={
                <>
                  <Th>For</Th>
                  <Th className="w-48">Used</Th>
                  <Th className="text-right">Spent</Th>
                  <Th className="text-right">Lent</Th>
                  <Th className="text-right">Of</Th>
                  <Th>When it is used up</Th>
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                </>
              }
            >
              {data.map((budget) => (
                <BudgetRow
                  key={budget.id}
                  budget={budget}
                  onChange={() => setSet(budget)}
                  onDelete={() => setGone(budget)}
                />
              ))}
            </Table>
          )
        }
      </Loaded>
      {set && <SetBudget budget={set === 'new' ? null : set} onClose={() => setSet(null)} />}
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={gone ? `Delete the budget of ${titleOf(gone)}?` : ''}
        label="Delete"
        act={async () => {
          const { scope, scopeId, unit } = gone!;
          if (scope !== 'run_tree') await troupe.usage.deleteBudget({ params: { scope, scopeId, unit } });
          await client.invalidateQueries({ queryKey: ['usage', 'budgets'] });
        }}
      >
        Nothing limits these runs together any more; those that wait for it go on. Set again, it begins from
        nothing.
      </Confirm>
    </Card>
  );
}

function BudgetRow({
  budget,
  onChange,
  onDelete,
}: {
  budget: Api.Budget;
  onChange: () => void;
  onDelete: () => void;
}) {
  const { scope, scopeId, name, unit, amount, spent, reserved, onExhausted, waiting } = budget;
  const share = amount > 0 ? spent / amount : 1;
  return (
    <Tr>
      <Td className="max-w-64 truncate" title={name ?? scopeId}>
        <span className="text-muted">{scopes[scope]}</span> {name ?? shortId(scopeId)}
      </Td>
      <Td label="Used">
        <Share share={share} tone={share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent'} />
      </Td>
      <Td label="Spent" className="text-right whitespace-nowrap tabular-nums">
        {formatAmount(unit, spent)}
      </Td>
      <Td label="Lent" className="text-right whitespace-nowrap text-muted tabular-nums">
        {formatAmount(unit, reserved)}
      </Td>
      <Td label="Of" className="text-right whitespace-nowrap tabular-nums">
        {formatAmount(unit, amount)}
      </Td>
      <Td label="When it is used up" className="whitespace-nowrap text-muted">
        {exhausted[onExhausted]}
        {waiting > 0 && <span className="text-warn">, {waiting} now</span>}
      </Td>
      <Td className="w-px whitespace-nowrap">
        {/* What runs were started with by other means is not set here. */}
        {scope !== 'run_tree' && (
          <>
            <Button
              kind="quiet"
              size="small-icon"
              aria-label={`Change the budget of ${titleOf(budget)}`}
              icon={<Pencil size={14} />}
              onClick={onChange}
            />
            <Button
              kind="quiet"
              size="small-icon"
              aria-label={`Delete the budget of ${titleOf(budget)}`}
              icon={<Trash2 size={14} />}
              onClick={onDelete}
            />
          </>
        )}
      </Td>
    </Tr>
  );
}
