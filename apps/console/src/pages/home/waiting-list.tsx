import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Time } from '@troupe/ui';
import { Inbox } from 'lucide-react';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import { itemOfCall, itemOfTask } from '../inbox/items.ts';

const SHOWN = 6;

/** The first of the inbox: those that people were asked first. */
async function firstOfInbox() {
  const [calls, tasks] = await Promise.all([
    troupe.inbox.list({ query: { limit: SHOWN } }),
    troupe.tasks.list({ query: { status: 'waiting', limit: SHOWN } }),
  ]);
  return [
    ...calls.data.map(itemOfCall),
    ...tasks.data.filter(({ question }) => question !== null).map(itemOfTask),
  ]
    .sort((one, other) => one.at.localeCompare(other.at))
    .slice(0, SHOWN);
}

export function WaitingList() {
  useLive('inbox');
  const items = useQuery({ queryKey: ['inbox', 'home'], queryFn: firstOfInbox });
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
      <Loaded query={items}>
        {(found) =>
          found.length === 0 ? (
            <Empty
              icon={<Inbox size={20} aria-hidden="true" />}
              title="Nothing waits for you"
              className="py-8"
            >
              Approvals, questions and calls in doubt come here.
            </Empty>
          ) : (
            <ul>
              {found.map((item) => (
                <li key={item.key} className="border-b border-line last:border-0">
                  <Link
                    to="/inbox"
                    search={{ item: item.key }}
                    className="block px-4 py-2 hover:bg-hover"
                    title={item.title}
                  >
                    <span className="block truncate text-sm">
                      {item.who}{' '}
                      {item.kind === 'question' ? (
                        <>asks: {item.title}</>
                      ) : (
                        <>
                          {item.kind === 'doubt' ? 'is in doubt about' : 'wants your approval for'}{' '}
                          <code className="font-mono text-xs">{item.title}</code>
                        </>
                      )}
                    </span>
                    <span className="block text-xs text-faint">
                      <Time value={item.at} />
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
