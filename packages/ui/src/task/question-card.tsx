import { memo, type ReactNode, useId } from 'react';
import { QuestionIcon } from '../basic/icons.tsx';
import { Time } from '../basic/time.tsx';
import { AnswerForm, type AnswerFormProps } from './answer-form.tsx';

export interface QuestionCardProps extends AnswerFormProps {
  question: string;
  /** The sub-agent that asks. */
  agentName?: string | null | undefined;
  createdAt?: string | null | undefined;
  deadline?: string | null | undefined;
  /** Such as a link to the task. */
  context?: ReactNode;
}

/** A question of a sub-agent, with a form that answers it. */
export const QuestionCard = memo(function QuestionCard(props: QuestionCardProps) {
  const { question, agentName, createdAt, deadline, context, ...form } = props;
  const titleId = useId();
  return (
    <section className="troupe-approval" aria-labelledby={titleId} tabIndex={-1}>
      <header className="troupe-approval-head">
        <span className="troupe-approval-icon">
          <QuestionIcon />
        </span>
        <div>
          <p id={titleId} className="troupe-approval-title">
            {agentName || 'A sub-agent'} asks
          </p>
          <p className="troupe-approval-facts">
            {createdAt && (
              <span>
                Asked <Time value={createdAt} />
              </span>
            )}
            {deadline && (
              <span>
                Expires <Time value={deadline} />
              </span>
            )}
            {context}
          </p>
        </div>
      </header>
      <p className="troupe-question">{question}</p>
      <AnswerForm {...form} />
    </section>
  );
});
