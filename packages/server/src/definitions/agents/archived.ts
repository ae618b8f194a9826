import { Refusal } from '../../base/index.ts';

export function agentArchived(): Refusal {
  return new Refusal('conflict', 'agent_archived', 'The agent is archived: it takes no new work.', {
    hint: 'Use another agent, or make this one active again.',
  });
}
