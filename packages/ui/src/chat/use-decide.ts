import type { Api, Approval, ApprovalsResult } from '@troupe/react';
import { useCallback, useRef } from 'react';

type Decision = Api.CallDecision | { decision: 'answer'; answer: string };

/** What a card says, done by the hook that holds the inbox. Stays the same function from render to render. */
export function useDecide(approvals: ApprovalsResult): (call: Approval, decision: Decision) => Promise<void> {
  const latest = useRef(approvals);
  latest.current = approvals;
  return useCallback((call, decision) => {
    const inbox = latest.current;
    switch (decision.decision) {
      case 'approve':
        return inbox.approve(call, decision.arguments === undefined ? {} : { arguments: decision.arguments });
      case 'reject':
        return inbox.reject(call, decision.reason);
      case 'retry':
        return inbox.retry(call);
      case 'complete':
        return inbox.complete(call, decision.output);
      case 'fail':
        return inbox.fail(call, decision.reason);
      case 'answer':
        return inbox.answer(call, decision.answer);
    }
  }, []);
}

export const approvalName = (runId: string, callId: string): string => `${runId} ${callId}`;
