import { type Api, type Approval, useToolResult } from '@troupe/react';
import { memo } from 'react';
import { QuestionCard } from '../task/question-card.tsx';
import { ApprovalCard } from '../tool/approval-card.tsx';
import type { ShownCall } from '../tool/call.ts';
import { ToolCard } from '../tool/tool-card.tsx';
import type { useDecide } from './use-decide.ts';

/** A call that can be answered where it stands. */
export const AnsweredCall = memo(function AnsweredCall({ call, runId }: { call: ShownCall; runId: string }) {
  const { submit, fail } = useToolResult({ runId, callId: call.id });
  return <ToolCard call={call} onSubmit={(result) => submit(result as Api.Json)} onFail={fail} />;
});

interface DecidedCallProps {
  approval: Approval;
  decide: ReturnType<typeof useDecide>;
  canEdit?: boolean | undefined;
}

/** A call that a person decides about. */
export const DecidedCall = memo(function DecidedCall({ approval, decide, canEdit }: DecidedCallProps) {
  if (approval.waitsFor === 'answer')
    return (
      <QuestionCard
        question={questionOf(approval)}
        agentName={approval.agentName}
        createdAt={approval.createdAt}
        deadline={approval.deadline}
        busy={approval.deciding !== undefined}
        problem={approval.failure?.message}
        onAnswer={(answer) => decide(approval, { decision: 'answer', answer })}
      />
    );
  return (
    <ApprovalCard
      call={approval}
      busy={approval.deciding !== undefined}
      problem={approval.failure?.message}
      canEdit={canEdit}
      onDecide={(decision) => decide(approval, decision)}
    />
  );
});

function questionOf({ arguments: args }: Approval): string {
  return String((args as { question?: unknown } | null)?.question ?? '');
}
