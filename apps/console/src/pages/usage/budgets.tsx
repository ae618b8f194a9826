import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { formatCost, formatNumber, shortId } from '../../data/format.ts';
import { Share } from './share-table.tsx';

const scopes: Record<Api.Budget['scope'], string> = {
  project: 'Project',
  agent: 'Agent',
  space: 'Space',
  session: 'Session',
  run_tree: 'Run and what it began',
};
const exhausted: Record<Api.Budget['onExhausted'], string> = {
  stop: 'runs fail',
  fallback: 'runs take their next model',
  wait: 'runs wait',
};

/** What is spent of each budget. */
export function Budgets() {
  const budgets = useQuery({
    queryKey: ['usage', 'budgets'],
    queryFn: () => troupe.usage.budgets(),
    refetchInterval: 30_000,
  });
  return (
    <Card title="Budgets" flush>
      <Loaded query={budgets}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No budgets" className="py-8!">
              Limits of agents hold for each of their runs. A budget holds for many together; none is set in
              this project.
            </Empty>
          ) : (
            <Table
              label="Budgets"
              head={
                <>
                  <Th>For</Th>
                  <Th className="w-48">Spent</Th>
                  <Th className="text-right">Spent</Th>
                  <Th className="text-right">Lent</Th>
                  <Th className="text-right">Of</Th>
                  <Th>When it is used up</Th>
                </>
              }
            >
              {data.map((budget) => (
                <BudgetRow key={budget.id} budget={budget} />
              ))}
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}

function BudgetRow({ budget }: { budget: Api.Budget }) {
  const { scope, scopeId, name, unit, amount, spent, reserved, onExhausted, waiting } = budget;
  const format = (value: number) => (unit === 'cost' ? formatCost(value) : `${formatNumber(value)} tokens`);
  const share = amount > 0 ? spent / amount : 1;
  return (
    <Tr>
      <Td className="max-w-64 truncate">
        <span className="text-muted">{scopes[scope]}</span> {name ?? shortId(scopeId)}
      </Td>
      <Td>
        <Share share={share} tone={share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent'} />
      </Td>
      <Td className="text-right whitespace-nowrap tabular-nums">{format(spent)}</Td>
      <Td className="text-right whitespace-nowrap text-muted tabular-nums">{format(reserved)}</Td>
      <Td className="text-right whitespace-nowrap tabular-nums">{format(amount)}</Td>
      <Td className="whitespace-nowrap text-muted">
        {exhausted[onExhausted]}
        {waiting > 0 && <span className="text-warn">, {waiting} now</span>}
      </Td>
    </Tr>
  );
}
