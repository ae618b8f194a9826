import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { TextAreaField } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { chatQuery } from '../../data/chats.ts';
import { useAnswerTask } from './answer.ts';

/** The question of a sub-agent, with a form that answers it. */
export function AnswerQuestion({ task }: { task: Api.Task }) {
  const { data: chat } = useQuery(chatQuery(task));
  const [text, setText] = useState('');
  const answerTask = useAnswerTask();
  const answer = useMutation({
    mutationFn: () => answerTask(task, text.trim()),
    onSuccess: () => setText(''),
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) answer.mutate();
      }}
    >
      <p className="text-sm font-medium break-words whitespace-pre-wrap">{task.question}</p>
      <TextAreaField
        label="Your answer"
        hint="The sub-agent continues with it, and the agent that gave the task is notified."
        rows={2}
        maxLength={60_000}
        value={text}
        onChange={setText}
      />
      {answer.error && <Notice tone="bad">{answer.error.message}</Notice>}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" kind="primary" busy={answer.isPending} disabled={!text.trim()}>
          Send answer
        </Button>
        {chat && (
          <Link to={chat.address} className="min-w-0 truncate text-sm text-accent hover:underline">
            Open {chat.title}
          </Link>
        )}
      </div>
    </form>
  );
}
