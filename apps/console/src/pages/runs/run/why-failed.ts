import type { Api } from '@troupe/sdk';

/** What to do about a run that failed, by the code of its error. */
const advice: Record<string, string> = {
  model_auth: 'The provider refuses the key. Set a valid one under Models, then retry.',
  model_quota: 'The account at the provider has nothing left. Raise it there, or retry with another model.',
  model_rejected:
    'The provider does not take the request. Look at the prompt of the last step, or retry with another model.',
  model_error: 'The provider had a problem of its own. Retry, or take another model.',
  unknown_model: 'The model is gone. Choose another one for the agent or for the retry.',
  context_too_long:
    'The prompt is longer than the model can read. Retry with a model that reads more, or fork from an earlier step.',
  content_filter:
    'The provider refused the content. Look at the prompt of the last step; a fork can change it.',
  empty_answer: 'The model gave empty answers. Retry, or choose another model.',
  model_empty:
    'The model used all its output tokens before it wrote any text. Raise its output tokens, or lower the reasoning effort.',
  answer_invalid:
    'The answer does not fit the schema that the agent has for its answers. Look at the last step, and at that schema.',
  answer_too_large:
    'The answer is larger than can be kept. Ask for less, or lower the output tokens of the model.',
  step_limit: 'It took as many steps as the agent may take. Raise that limit of the agent, then retry.',
  iteration_limit: 'It took as many steps as the agent may take. Raise that limit of the agent, then retry.',
  tool_call_limit:
    'It made as many tool calls as the agent may make. Raise that limit of the agent, then retry.',
  token_limit: 'It used as many tokens as the agent may use. Raise that limit of the agent, then retry.',
  too_many_calls: 'One step asked for more tool calls than are allowed. Look at that step.',
  budget_exhausted: 'A budget is used up. Usage has what is left of each; raise it, then retry.',
  no_progress:
    'It made the same calls again and again. Look at the last steps, then change the prompt or the tools.',
  too_many_refusals:
    'The network refused too many decisions in a row. Look at the steps: the prompt names routes or tools that are not there.',
  secret_missing: 'A secret that it needs is not set. Set it under Keys and secrets, then retry.',
  snapshot_missing: 'What it was to execute is gone. Begin a new run.',
  in_doubt: 'It is not known whether a call took effect. The inbox has it: say there what became of it.',
  agent_archived: 'The agent is archived. Restore it, then retry.',
  not_a_member: 'The agent is no member of the space any more. Add it there, then retry.',
};

export function adviceFor({ error, cancelReason, status }: Api.Run): string | null {
  if (status === 'failed' && error)
    return (
      advice[error.code] ??
      (error.retryable
        ? 'It may go well another time: retry.'
        : 'Look at its last step and its events; a retry goes on after the last step that was taken.')
    );
  if (status !== 'canceled') return null;
  const reasons: Record<Api.CancelReason, string> = {
    user: 'Somebody canceled it. A retry takes it up again after its last step.',
    absorbed: 'Another run answers its message too.',
    timeout: 'It took longer than it may. Raise the limit of the agent, then retry.',
    budget: 'A budget was used up. Usage has what is left of each; raise it, then retry.',
    superseded: 'A newer message interrupted it.',
    parent: 'The call that waited for it was settled without it.',
  };
  return cancelReason ? reasons[cancelReason] : null;
}
