import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Json, Time } from '@troupe/ui';
import { Button } from '../../../blocks/button.tsx';
import { cx } from '../../../blocks/cx.ts';
import { Empty, Loaded } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import { type RunDetails, versionOf } from './queries.ts';
import type { ChangeSearch } from './run.tsx';

const PAGE = 100;

/** The messages of the thread that it works in, or only its own. */
export default function Messages({
  run,
  of,
  onChange,
}: {
  run: RunDetails;
  of: 'thread' | 'run';
  onChange: ChangeSearch;
}) {
  const messages = useInfiniteQuery({
    queryKey: ['run-thread', run.id, of, versionOf(run)],
    queryFn: ({ pageParam }) =>
      troupe.runs.messages({ params: { runId: run.id }, query: { of, after: pageParam, limit: PAGE } }),
    initialPageParam: 0,
    getNextPageParam: ({ data }) => (data.length < PAGE ? undefined : data.at(-1)!.sequence),
    placeholderData: (before) => before,
  });
  return (
    <div className="flex flex-col gap-3">
      <fieldset className="flex gap-1 self-start rounded-md bg-sunken p-1">
        <legend className="sr-only">Whose messages</legend>
        {(['thread', 'run'] as const).map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={of === each}
            onClick={() => onChange({ of: each })}
            className={cx(
              'rounded-md px-2 py-1 text-xs font-medium',
              of === each ? 'bg-surface text-text shadow-low' : 'text-muted hover:text-text',
            )}
          >
            {each === 'thread' ? 'The whole thread' : 'Of this run'}
          </button>
        ))}
      </fieldset>
      <Loaded query={messages}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => data);
          if (all.length === 0) return <Empty title="No messages" />;
          return (
            <>
              <ol
                aria-label="Messages"
                className="divide-y divide-line rounded-lg border border-line bg-surface"
              >
                {all.map((message) => (
                  <ShownMessage
                    key={message.id}
                    message={message}
                    isOwn={message.runId === run.id}
                    runId={run.id}
                  />
                ))}
              </ol>
              {messages.hasNextPage && (
                <Button
                  className="self-center"
                  busy={messages.isFetchingNextPage}
                  onClick={() => void messages.fetchNextPage()}
                >
                  Load more
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const roles: Record<Api.MessageRole, string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_call: 'Tool call',
  tool_result: 'Tool result',
};

function ShownMessage({ message, isOwn, runId }: { message: Api.Message; isOwn: boolean; runId: string }) {
  return (
    <li className={cx('flex flex-col gap-1 px-4 py-3 text-sm', !isOwn && 'bg-sunken')}>
      <div className="flex flex-wrap items-baseline gap-x-3 text-xs text-faint">
        <span className="tabular-nums">{message.sequence}</span>
        <span className="font-semibold text-muted">{roles[message.role]}</span>
        {message.role === 'tool_call' && <span className="font-mono">{message.content.name}</span>}
        {isOwn && message.step !== null && message.step > 0 && (
          <Link
            to="/runs/$runId"
            params={{ runId }}
            search={{ tab: 'steps', step: message.step }}
            className="rounded-sm hover:underline"
          >
            step {message.step}
          </Link>
        )}
        {!isOwn && message.runId && (
          <Link to="/runs/$runId" params={{ runId: message.runId }} className="rounded-sm hover:underline">
            another run
          </Link>
        )}
        <span className="ml-auto">
          <Time value={message.createdAt} />
        </span>
      </div>
      <Content message={message} />
    </li>
  );
}

function Content({ message }: { message: Api.Message }) {
  if (message.role === 'tool_call')
    return <Json value={message.content.arguments} lines={12} label="Arguments" />;
  if (message.role === 'tool_result')
    return message.content.error ? (
      <p className="text-bad">
        {message.content.error.message}{' '}
        <span className="font-mono text-2xs">{message.content.error.code}</span>
      </p>
    ) : (
      <Json value={message.content.result} lines={12} label="Result" />
    );
  return (
    <p className="max-h-[30rem] overflow-y-auto break-words whitespace-pre-wrap">{message.content.text}</p>
  );
}
