import type { SessionMessage, SpaceMessage } from '@troupe/react';
import type { ReactNode } from 'react';
import { Message, type Sender } from '../message/message.tsx';

type Said = Extract<SessionMessage | SpaceMessage, { content: { text: string } }>;

/** A message of a conversation. While it is being sent, it can be sent again or discarded. */
export function SentMessage({
  message,
  ...shown
}: {
  message: Said;
  sender: Sender;
  own: boolean;
  continued: boolean;
  actions: ReactNode;
}) {
  const { content, createdAt, sending } = message;
  return (
    <Message
      {...shown}
      text={content.text}
      parts={content.parts}
      createdAt={createdAt}
      state={sending?.state ?? 'sent'}
      error={sending?.error?.message}
      onResend={sending?.resend}
      onDiscard={sending?.discard}
    />
  );
}
