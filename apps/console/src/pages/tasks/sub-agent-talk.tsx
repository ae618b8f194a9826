import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Message, type ShownCall, ToolCard } from '@troupe/ui';
import { useMemo } from 'react';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';

const LIMIT = 200;

/** What was said within a sub-agent, with its calls where they were made. */
export default function SubAgentTalk({ subAgentId, name }: { subAgentId: string; name: string }) {
  const params = { subAgentId };
  const talk = useQuery({
    queryKey: ['tasks', 'talk', subAgentId],
    queryFn: async () => {
      const query = { limit: LIMIT };
      const [messages, calls] = await Promise.all([
        troupe.subAgents.messages({ params, query }),
        troupe.subAgents.toolCalls({ params, query }),
      ]);
      return { messages, calls };
    },
  });
  return (
    <Loaded query={talk}>
      {({ messages, calls }) => (
        <>
          <Said messages={messages.data} calls={calls.data} name={name} subAgentId={subAgentId} />
          {messages.nextCursor && <Notice>Only the first {LIMIT} messages are shown.</Notice>}
        </>
      )}
    </Loaded>
  );
}

function Said({
  messages,
  calls,
  name,
  subAgentId,
}: {
  messages: Api.SubAgentMessage[];
  calls: Api.SubAgentToolCall[];
  name: string;
  subAgentId: string;
}) {
  const known = useMemo(() => new Map(calls.map((call) => [call.id, shownCall(call)])), [calls]);
  return (
    <div className="flex flex-col gap-3">
      {messages
        // Results stand with their calls.
        .filter(({ role }) => role !== 'tool')
        .map((message) => {
          const made = (message.toolCalls ?? []).flatMap(({ id }) => known.get(id) ?? []);
          const isAgent = message.role === 'assistant';
          return (
            <Message
              key={message.id}
              sender={{
                id: isAgent ? subAgentId : message.role,
                name: isAgent ? name : message.role === 'system' ? 'System' : 'Whoever gave it',
                type: isAgent ? 'agent' : 'human',
              }}
              text={message.content}
              createdAt={message.createdAt}
            >
              {made.map((call) => (
                <ToolCard key={call.id} call={call} />
              ))}
            </Message>
          );
        })}
    </div>
  );
}

function shownCall(call: Api.SubAgentToolCall): ShownCall {
  const statuses = { pending: 'running', success: 'completed', failed: 'failed' } as const;
  return {
    id: call.id,
    runId: call.runId,
    tool: call.toolName,
    status: statuses[call.status],
    arguments: call.args,
    output: call.result === undefined ? undefined : parsed(call.result),
    error: call.error === undefined ? null : { code: 'failed', message: call.error },
    createdAt: call.createdAt,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
