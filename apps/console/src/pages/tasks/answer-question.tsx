import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { TextAreaField } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { chatQuery } from '../../data/chats.ts';
import { troupe } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';

/** What a sub-agent asked. The answer is said in the conversation, where the agent that gave the task passes it on. */
export function AnswerQuestion({ task, onAnswered }: { task: Api.Task; onAnswered?: () => void }) {
  const client = useQueryClient();
  const me = useMe();
  const { data: chat } = useQuery(chatQuery(task));
  const [text, setText] = useState('');
  const answer = useMutation({
    mutationFn: async () => {
      if (chat?.kind === 'session') await troupe.session(chat.agentId!, chat.id).send(text.trim());
      else
        await troupe.space(chat!.id).post({
          content: { text: text.trim() },
          ...(me.canSwitch && me.entityId ? { senderId: me.entityId } : {}),
        });
    },
    onSuccess: () => {
      setText('');
      say('The answer is said in the conversation.');
      onAnswered?.();
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ['tasks'] });
      void client.invalidateQueries({ queryKey: ['inbox'] });
    },
  });
  const cannot =
    chat?.kind === 'network'
      ? 'The agent of the network answers it.'
      : chat?.kind === 'space' && me.entityId === null
        ? 'Choose in the space who you are, to answer there.'
        : null;
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) answer.mutate();
      }}
    >
      <p className="text-sm font-medium break-words whitespace-pre-wrap">{task.question}</p>
      {cannot ? (
        <Notice>{cannot}</Notice>
      ) : (
        <TextAreaField
          label="Your answer"
          hint="It is said in the conversation, and the agent there passes it on."
          rows={2}
          value={text}
          onChange={setText}
        />
      )}
      {answer.error && <Notice tone="bad">{answer.error.message}</Notice>}
      <div className="flex flex-wrap items-center gap-3">
        {!cannot && (
          <Button type="submit" kind="primary" busy={answer.isPending} disabled={!text.trim() || !chat}>
            Answer
          </Button>
        )}
        {chat && (
          <Link to={chat.address} className="min-w-0 truncate text-sm text-accent hover:underline">
            Open {chat.title}
          </Link>
        )}
      </div>
    </form>
  );
}
