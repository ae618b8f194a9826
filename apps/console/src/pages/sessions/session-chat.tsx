import type { Api } from '@troupe/sdk';
import { Chat } from '@troupe/ui';
import { SUGGESTIONS } from './words.ts';

/** Apart from its page, since drawing markdown takes a good deal of code. */
export default function SessionChat({ session }: { session: Api.Session }) {
  return <Chat agentId={session.agentId} sessionId={session.id} suggestions={SUGGESTIONS} />;
}
