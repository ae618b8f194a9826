import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { ApprovalCard, callOfInbox, ToolCard } from '@troupe/ui';
import { runAddress, sessionAddress, spaceAddress } from '../../data/addresses.ts';
import { useSettling } from './decide.ts';

/** A call that waits, with what settles it. */
export function WaitingCallCard({ call }: { call: Api.WaitingCall }) {
  const { decide, answer, fail } = useSettling();
  if (call.waitsFor === 'client')
    return (
      <div className="flex flex-col gap-2">
        <p className="flex flex-wrap gap-x-3 text-xs text-faint">
          <span>{call.agentName ?? 'An agent'} waits for an answer</span>
          <CallLinks call={call} />
        </p>
        <ToolCard
          open
          call={callOfInbox(call)}
          onSubmit={(result) => answer(call, result as Api.Json)}
          onFail={(message, code) => fail(call, message, code)}
        />
      </div>
    );
  return (
    <ApprovalCard
      call={call}
      onDecide={(decision) => decide(call, decision)}
      context={<CallLinks call={call} />}
    />
  );
}

/** Where it came from. */
function CallLinks({ call }: { call: Api.WaitingCall }) {
  const className = 'rounded-sm text-accent hover:underline';
  return (
    <>
      {call.sessionId && call.agentId && (
        <Link to={sessionAddress(call.agentId, call.sessionId)} className={className}>
          Session
        </Link>
      )}
      {call.spaceId && (
        <Link to={spaceAddress(call.spaceId)} className={className}>
          Space
        </Link>
      )}
      <Link to={runAddress(call.runId)} className={className}>
        Run, step {call.step}
      </Link>
      {call.rootRunId && call.rootRunId !== call.runId && (
        <Link to={runAddress(call.rootRunId)} className={className}>
          Where it began
        </Link>
      )}
    </>
  );
}
