import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Avatar, Time } from '@troupe/ui';
import { Search } from 'lucide-react';
import { SearchBox } from '../../blocks/search-box.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';

/** What was said that contains a text, newest first. Each leads to where it was said. */
export function SearchPanel({
  spaceId,
  text,
  onSearch,
  onOpen,
}: {
  spaceId: string;
  text: string;
  onSearch: (text: string) => void;
  onOpen: (messageId: string) => void;
}) {
  const found = useQuery({
    queryKey: ['space messages', spaceId, text],
    queryFn: () => troupe.space(spaceId).messages({ search: text, limit: 100 }),
    enabled: text !== '',
  });
  return (
    <div>
      <div className="sticky top-0 z-10 border-b border-line bg-surface px-4 py-2">
        <SearchBox label="Search messages" value={text} onSearch={onSearch} />
      </div>
      {text === '' ? (
        <Empty icon={Search} title="Search what was said">
          Any part of a text, whatever the case.
        </Empty>
      ) : (
        <Loaded query={found}>
          {({ data, hasMore }) =>
            data.length === 0 ? (
              <Empty icon={Search} title="Nobody said that" />
            ) : (
              <>
                <ol aria-label="Found messages" className="divide-y divide-line">
                  {data.toReversed().map((message) => (
                    <Found key={message.id} message={message} text={text} onOpen={() => onOpen(message.id)} />
                  ))}
                </ol>
                {hasMore && <p className="px-4 py-3 text-xs text-faint">Only the newest 100 are shown.</p>}
              </>
            )
          }
        </Loaded>
      )}
    </div>
  );
}

function Found({ message, text, onOpen }: { message: Api.SpaceMessage; text: string; onOpen: () => void }) {
  return (
    <li className="relative flex gap-2.5 px-4 py-2.5 text-sm hover:bg-hover">
      <Avatar name={message.senderName} id={message.senderId} type={message.senderType} size="small" />
      <div className="min-w-0 flex-1">
        <p className="flex min-w-0 items-baseline gap-2">
          <button
            type="button"
            title="Show it where it was said"
            onClick={onOpen}
            className="min-w-0 truncate rounded-sm text-left font-medium after:absolute after:inset-0"
          >
            {message.senderName ?? 'Somebody'}
          </button>
          <span className="shrink-0 text-xs text-faint">
            <Time value={message.createdAt} />
          </span>
        </p>
        <p className="line-clamp-4 break-words text-muted">{marked(message.content.text, text)}</p>
      </div>
    </li>
  );
}

/** What was searched, shown within what is around it. */
function marked(said: string, text: string) {
  const at = said.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0) return said.slice(0, 400);
  const from = Math.max(0, at - 80);
  const end = at + text.length;
  return (
    <>
      {from > 0 && '…'}
      {said.slice(from, at)}
      <mark className="rounded-sm bg-warn-soft text-warn">{said.slice(at, end)}</mark>
      {said.slice(end, end + 300)}
    </>
  );
}
