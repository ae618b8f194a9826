import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Target, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Input, Select } from '../../blocks/field.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList } from '../../blocks/list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { useWhose, Whose } from './whose.tsx';

const statuses = ['active', 'completed', 'abandoned'] as const;
const words = { active: 'Active', completed: 'Completed', abandoned: 'Abandoned' };
const priorities = [1, 2, 3, 4, 5];

/** What the agent is to achieve: for all, or for one person. */
export default function GoalsTab({ agentId }: { agentId: string }) {
  const whose = useWhose();
  const client = useQueryClient();
  const [gone, setGone] = useState<Api.Goal | null>(null);
  useLive('goals');
  const list = useCursorPages(['goals', agentId, whose], (page) =>
    troupe.goals.list({ params: { agentId }, query: { ...page, ...whose } }),
  );
  const changed = () => client.invalidateQueries({ queryKey: ['goals'] });
  const change = useMutation({
    mutationFn: ({ id, ...body }: { id: string; status?: Api.GoalStatus; priority?: number }) =>
      troupe.goals.update({ params: { agentId, goalId: id }, query: whose, body }),
    onSuccess: changed,
    onError: sayError,
  });
  return (
    <div className="flex max-w-5xl flex-col gap-4">
      <Whose />
      <NewGoal agentId={agentId} whose={whose} />
      <TableList
        list={list}
        empty={
          <Empty icon={Target} title="No goals yet">
            An agent with the Memory capability has its goals in its prompt, sorted by priority. It sets its
            own goals. Add one above.
          </Empty>
        }
        label="Goals"
        keyOf={(goal) => goal.id}
        columns={[
          {
            name: 'Goal',
            cellClass: 'max-w-xl min-w-56 break-words whitespace-pre-wrap',
            cell: (goal) => goal.description,
          },
          {
            name: 'Priority',
            cell: (goal) => (
              <Select
                aria-label={`Priority of ${goal.description.slice(0, 60)}`}
                className="max-w-16"
                value={goal.priority}
                onChange={({ target }) => change.mutate({ id: goal.id, priority: Number(target.value) })}
              >
                {priorities.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </Select>
            ),
          },
          {
            name: 'Status',
            cell: (goal) => (
              <Select
                aria-label={`Status of ${goal.description.slice(0, 60)}`}
                className="max-w-32"
                value={goal.status}
                onChange={({ target }) =>
                  change.mutate({ id: goal.id, status: target.value as Api.GoalStatus })
                }
              >
                {statuses.map((status) => (
                  <option key={status} value={status}>
                    {words[status]}
                  </option>
                ))}
              </Select>
            ),
          },
          { name: 'Changed', time: (goal) => goal.updatedAt },
          {
            name: 'Actions',
            isAction: true,
            cell: (goal) => (
              <IconButton
                label={`Delete ${goal.description.slice(0, 60)}`}
                icon={Trash2}
                onClick={() => setGone(goal)}
              />
            ),
          },
        ]}
      />
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title="Delete this goal?"
        label="Delete goal"
        changes="goals"
        act={() => troupe.goals.remove({ params: { agentId, goalId: gone!.id }, query: whose })}
      >
        <p className="line-clamp-4 break-words">{gone?.description}</p>
      </Confirm>
    </div>
  );
}

function NewGoal({ agentId, whose }: { agentId: string; whose: { user?: string } }) {
  const [description, setDescription] = useState('');
  const [priority, setPriority] = useState(3);
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      troupe.goals.create({ params: { agentId }, query: whose, body: { description, priority } }),
    onSuccess: () => {
      setDescription('');
      return client.invalidateQueries({ queryKey: ['goals'] });
    },
    onError: sayError,
  });
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <Input
        aria-label="New goal"
        placeholder="What is it to achieve?"
        required
        maxLength={10_000}
        value={description}
        onChange={({ target }) => setDescription(target.value)}
        className="flex-1 basis-64"
      />
      <Select
        aria-label="Priority"
        className="max-w-40"
        value={priority}
        onChange={({ target }) => setPriority(Number(target.value))}
      >
        {priorities.map((one) => (
          <option key={one} value={one}>
            Priority {one}
          </option>
        ))}
      </Select>
      <Button type="submit" kind="primary" busy={create.isPending}>
        Add goal
      </Button>
    </form>
  );
}
