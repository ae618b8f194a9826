import { TroupeProvider } from '@troupe/react';
import { useMemo } from 'react';
import { Chat, Space, ToolUi, type ToolUiProps } from '../src/index.ts';

function PickColour({ call, submit, canAnswer }: ToolUiProps) {
  return (
    <div className="gallery-row">
      <span>Which colour?</span>
      {['red', 'blue'].map((colour) => (
        <button
          key={colour}
          type="button"
          className="troupe-button"
          disabled={!canAnswer}
          onClick={() => submit({ colour })}
        >
          {colour}
        </button>
      ))}
      <output>{JSON.stringify(call.output ?? null)}</output>
    </div>
  );
}
const TOOLS = { pick_colour: PickColour };

/** A chat or a space of a real server. */
export function Whole({ query }: { query: URLSearchParams }) {
  const client = useMemo(() => {
    const key = query.get('key');
    return { baseUrl: query.get('server')!, ...(key ? { key } : {}) };
  }, [query]);
  const [session, space] = [query.get('session'), query.get('space')];
  return (
    <TroupeProvider client={client} entityId={query.get('as') ?? undefined}>
      <ToolUi tools={TOOLS}>
        <main className="gallery-whole">
          {session && (
            <Chat
              agentId={query.get('agent')!}
              sessionId={session}
              suggestions={['How much is 2+2?', 'What time is it?']}
            />
          )}
          {space && <Space spaceId={space} />}
        </main>
      </ToolUi>
    </TroupeProvider>
  );
}
