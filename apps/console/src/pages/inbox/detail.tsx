import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { KnownTools } from '../../blocks/known-tools.tsx';
import { Card } from '../../blocks/page.tsx';
import { Failure, Loading } from '../../blocks/states.tsx';
import { taskAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { AnswerQuestion } from '../tasks/answer-question.tsx';
import { WaitingCallCard } from './call-card.tsx';
import { DeliveryCard } from './delivery-card.tsx';
import type { InboxItem } from './items.ts';

/** The one that is looked at, with what settles it. */
export default function Detail({ item }: { item: InboxItem }) {
  if (item.kind === 'delivery') return <DeliveryCard delivery={item.delivery} />;
  if (item.kind === 'question')
    return (
      <Card
        title={`${item.who} asks`}
        actions={
          item.call.taskId && (
            <Link to={taskAddress(item.call.taskId)} className="text-xs text-accent hover:underline">
              Open task
            </Link>
          )
        }
      >
        <Question call={item.call} />
      </Card>
    );
  return (
    <KnownTools>
      <WaitingCallCard call={item.call} />
    </KnownTools>
  );
}

function Question({ call }: { call: Api.WaitingCall }) {
  const taskId = call.taskId!;
  const task = useQuery({
    queryKey: ['tasks', 'one', taskId],
    queryFn: () => troupe.tasks.get({ params: { taskId } }),
  });
  if (task.error) return <Failure error={task.error} retry={() => void task.refetch()} />;
  return task.data ? <AnswerQuestion task={task.data} /> : <Loading />;
}
