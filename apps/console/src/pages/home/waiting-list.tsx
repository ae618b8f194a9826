import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Time } from '@troupe/ui';
import { Inbox } from 'lucide-react';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';

const words: Record<Api.WaitsFor, string> = {
  approval: 'wants your approval for',
  client: 'waits for a program to do',
  person: 'is in doubt about',
  task: 'waits for the task of',
  reply: 'waits for a reply to',
  answer: 'asks you with',
};

/** The first of the inbox. */
export function WaitingList() {
  useLive('inbox');
  const calls = useQuery({
    queryKey: ['inbox', 'home'],
    queryFn: () => troupe.inbox.list({ query: { limit: 6 } }),
  });
  return (
    <Card
      flush
      title="Waiting for you"
      actions={
        <Link to="/inbox" className="rounded-sm text-xs text-accent-strong hover:underline">
          Inbox
        </Link>
      }
    >
      <Loaded query={calls}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty
              icon={<Inbox size={20} aria-hidden="true" />}
              title="Nothing waits for you"
              className="py-8"
            >
              Approvals, questions and calls in doubt come here.
            </Empty>
          ) : (
            <ul>
              {data.map((call) => (
                <li key={`${call.runId}${call.callId}`} className="border-b border-line last:border-0">
                  <Link to="/inbox" className="block px-4 py-2 hover:bg-hover">
                    <span className="block truncate text-sm">
                      {call.agentName ?? call.agentKey ?? 'An agent'} {words[call.waitsFor] ?? 'waits for'}{' '}
                      <code className="font-mono text-xs">{call.tool}</code>
                    </span>
                    <span className="block text-xs text-faint">
                      <Time value={call.createdAt} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}
