import * as store from '../store/index.ts';

export async function messagesOf(db: store.Database, thread: string, range: store.MessageRange) {
  // The counter is read first: a message that arrives between the two reads is then listed but not counted, never counted but not listed.
  const lastSequence = await store.lastMessageSequence(db, thread);
  return { messages: await store.listMessages(db, thread, range), lastSequence };
}
