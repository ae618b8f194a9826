import { Link } from '@tanstack/react-router';
import { Time } from '@troupe/ui';
import { Inbox } from 'lucide-react';
import { Card } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { useLive } from '../../data/live.ts';
import { useInbox } from '../inbox/queries.ts';
import { kindWords } from '../inbox/words.ts';

const SHOWN = 6;

/** The first of the inbox: those that wait for longest. */
export function WaitingList() {
  useLive('inbox');
  useLive('tasks');
  useLive('deliveries');
  const inbox = useInbox();
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
      {inbox.items.length > 0 ? (
        <ul>
          {inbox.items.slice(0, SHOWN).map(({ key, kind, title, who, at }) => (
            <li key={key} className="border-b border-line last:border-0">
              <Link to="/inbox" search={{ item: key }} className="block px-4 py-2 hover:bg-hover">
                <span className="block truncate text-sm" title={title}>
                  {title}
                </span>
                <span className="block truncate text-xs text-faint">
                  {kindWords[kind].one} · {who} · <Time value={at} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      ) : inbox.error ? (
        <Failure error={inbox.error} retry={inbox.refetch} />
      ) : inbox.isLoading ? (
        <Loading />
      ) : (
        <Empty icon={Inbox} title="Nothing waits for you" className="py-8">
          Approvals, questions and calls in doubt come here.
        </Empty>
      )}
    </Card>
  );
}
