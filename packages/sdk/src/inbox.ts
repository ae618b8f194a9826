import {
  type CallDecision,
  inboxEndpoints,
  type Json,
  type ResultOf,
  type Task,
  taskEndpoints,
  type WaitingCall,
} from '@troupe/protocol';
import type { RequestOptions, Transport } from './transport.ts';

/** A call as the inbox lists it, or as much of it as says which one is meant. */
type Meant = Pick<WaitingCall, 'runId' | 'callId'>;
type Settled = Promise<ResultOf<typeof inboxEndpoints.decide>>;

/** What a person says about a call that waits for one. */
export function decisions(transport: Transport) {
  const decide = ({ runId, callId }: Meant, body: CallDecision, options?: RequestOptions): Settled =>
    transport.call(inboxEndpoints.decide, { params: { runId, callId }, body }, options);
  return {
    /** For exactly the arguments of `call`, as they were seen; `arguments`: to be called with these instead. */
    approve: (
      call: Meant & Pick<WaitingCall, 'argumentsHash'>,
      { arguments: args, ...options }: RequestOptions & { arguments?: Json } = {},
    ): Settled => {
      const { argumentsHash } = call;
      const edited = args === undefined ? {} : { arguments: args };
      return decide(call, { decision: 'approve', argumentsHash, ...edited }, options);
    },
    reject: (call: Meant, reason?: string, options?: RequestOptions): Settled =>
      decide(call, { decision: 'reject', ...(reason === undefined ? {} : { reason }) }, options),
    /** A call whose outcome is in doubt is made once more. */
    retry: (call: Meant, options?: RequestOptions): Settled => decide(call, { decision: 'retry' }, options),
    /** It took effect, and this is what came of it. */
    complete: (call: Meant, output: Json, options?: RequestOptions): Settled =>
      decide(call, { decision: 'complete', output }, options),
    fail: (call: Meant, reason: string, options?: RequestOptions): Settled =>
      decide(call, { decision: 'fail', reason }, options),
    /** Answers the question of a sub-agent (`waitsFor: 'answer'`). */
    answer: (
      { taskId, callId }: Pick<WaitingCall, 'taskId' | 'callId'>,
      answer: string,
      options?: RequestOptions,
    ): Promise<Task> => {
      if (taskId === null)
        throw new TypeError('The call belongs to no task. Only questions of sub-agents can be answered.');
      const body = { answer, questionId: callId };
      return transport.call(taskEndpoints.answer, { params: { taskId }, body }, options);
    },
  };
}
