import type { Json, JsonObject } from '@troupe/protocol';
import type { NewMessage } from '../store/index.ts';

/**
 * A person may let a call through with other arguments than the model gave. The transcript keeps what the model said; the
 * result says what was really called, or the model would take it for the result of something else.
 */
export function withCalledWith<Message extends Omit<NewMessage, 'id'>>(
  messages: Message[],
  edited: ReadonlyMap<string, Json>,
): Message[] {
  if (edited.size === 0) return messages;
  return messages.map((message) => {
    const calledWith = message.role === 'tool_result' ? edited.get(message.callId!) : undefined;
    if (calledWith === undefined) return message;
    return { ...message, content: { ...(message.content as JsonObject), calledWith } };
  });
}
