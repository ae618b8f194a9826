import { useNavigate } from '@tanstack/react-router';
import { useSpace } from '@troupe/react';
import { TaskTree } from '@troupe/ui';
import { ListTree } from 'lucide-react';
import { Empty, Loading } from '../../blocks/states.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { taskAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useAnswerTask } from '../tasks/answer.ts';

export function TasksPanel({ spaceId, entityId }: { spaceId: string; entityId: string | null }) {
  const { tasks, isLoading } = useSpace(spaceId, { as: entityId ?? undefined });
  const navigate = useNavigate();
  const answer = useAnswerTask();
  if (isLoading) return <Loading />;
  if (tasks.length === 0)
    return (
      <Empty icon={ListTree} title="No tasks">
        Work that agents of this space give to sub-agents and tools is shown here as it happens.
      </Empty>
    );
  return (
    <div className="p-2">
      <TaskTree
        tasks={tasks}
        label="Tasks"
        onAnswer={answer}
        onOpen={({ id }) => void navigate({ to: taskAddress(id) })}
        onCancel={(taskId) => troupe.tasks.cancel({ params: { taskId } }).then(() => {}, sayError)}
      />
    </div>
  );
}
