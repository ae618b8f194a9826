import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { TaskTree, Time } from '@troupe/ui';
import { Button } from '../../blocks/button.tsx';
import { Card } from '../../blocks/page.tsx';
import { taskAddress } from '../../data/addresses.ts';
import { chatQuery } from '../../data/chats.ts';
import { shortId } from '../../data/format.ts';
import { useAnswerTask } from './answer.ts';
import { useCancelTask } from './cancel.ts';

/** The tasks of one conversation. */
export function TasksOfChat({ tasks, onOnly }: { tasks: Api.Task[]; onOnly: (() => void) | undefined }) {
  const first = tasks[0]!;
  const { data: chat } = useQuery(chatQuery(tasks.at(-1)!));
  const navigate = useNavigate();
  const answer = useAnswerTask();
  const cancel = useCancelTask();
  return (
    <Card
      flush
      title={
        <span className="flex min-w-0 items-baseline gap-2">
          {chat ? (
            <Link to={chat.address} title={chat.title} className="truncate rounded-sm hover:underline">
              {chat.title}
            </Link>
          ) : (
            <span className="truncate text-muted">{shortId(first.chatId)}</span>
          )}
          <span className="shrink-0 text-xs font-normal text-faint">
            {chat?.kind} · <Time value={first.createdAt} />
          </span>
        </span>
      }
      actions={
        onOnly && (
          <Button kind="quiet" size="small" onClick={onOnly}>
            Only these
          </Button>
        )
      }
    >
      <div className="p-2">
        <TaskTree
          tasks={tasks}
          label={`Tasks of ${chat?.title ?? shortId(first.chatId)}`}
          onAnswer={answer}
          onOpen={({ id }) => void navigate({ to: taskAddress(id) })}
          onCancel={cancel}
        />
      </div>
    </Card>
  );
}
