import { useNavigate } from '@tanstack/react-router';
import { useSession } from '@troupe/react';
import { TaskTree } from '@troupe/ui';
import { ListTree } from 'lucide-react';
import { Empty, Loading } from '../../blocks/states.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { taskAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useAnswerTask } from '../tasks/answer.ts';

/** Sub-agents and background tools at work for the session, as a tree; as live as the chat, whose stream it shares. */
export function TasksPanel({ agentId, sessionId }: { agentId: string; sessionId: string }) {
  const { tasks, isLoading } = useSession(agentId, sessionId);
  const navigate = useNavigate();
  const answer = useAnswerTask();
  if (isLoading) return <Loading />;
  if (tasks.length === 0)
    return (
      <Empty icon={ListTree} title="No sub-agents">
        An agent with the capability to delegate gives work to others. Who does what, and within what, is
        shown here as it happens.
      </Empty>
    );
  return (
    <div className="p-2">
      <TaskTree
        tasks={tasks}
        label="Sub-agents"
        onAnswer={answer}
        onOpen={({ id }) => void navigate({ to: taskAddress(id) })}
        onCancel={(taskId) => troupe.tasks.cancel({ params: { taskId } }).then(() => {}, sayError)}
      />
    </div>
  );
}
