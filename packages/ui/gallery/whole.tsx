import { TroupeProvider } from '@troupe/react';
import { useMemo, useSyncExternalStore } from 'react';
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

function onMove(listener: () => void): () => void {
  window.addEventListener('popstate', listener);
  return () => window.removeEventListener('popstate', listener);
}

/** A chat or a space of a real server: that of the address, and another when one goes back. */
export function Whole() {
  const address = useSyncExternalStore(onMove, () => location.search);
  const query = useMemo(() => new URLSearchParams(address), [address]);
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
