import { Link } from '@tanstack/react-router';
import { KnownTools } from '../../blocks/known-tools.tsx';
import { Card } from '../../blocks/page.tsx';
import { taskAddress } from '../../data/addresses.ts';
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
          <Link to={taskAddress(item.task.id)} className="text-xs text-accent hover:underline">
            The task
          </Link>
        }
      >
        <AnswerQuestion task={item.task} />
      </Card>
    );
  return (
    <KnownTools>
      <WaitingCallCard call={item.call} />
    </KnownTools>
  );
}
