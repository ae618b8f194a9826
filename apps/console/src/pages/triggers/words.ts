export const DELIVERY_STATUSES = ['pending', 'sending', 'delivered', 'dead'] as const;

export const deliveryWords = {
  pending: 'Waiting',
  sending: 'Being sent',
  delivered: 'Delivered',
  dead: 'Given up',
} as const;
export const deliveryTones = { pending: 'info', sending: 'info', delivered: 'good', dead: 'bad' } as const;

/** What rules can be about. */
export const COLLECTIONS = [
  ['users/*/orch-chats/*/messages', 'Messages of sessions and spaces'],
  ['users/*/orch-chats/*/tasks', 'Tasks'],
  ['users/*/orch-chats/*/sub-agents', 'Sub-agents'],
  ['users/*/orch-chats/*/sub-agents/*/messages', 'What is said within a sub-agent'],
  ['users/*/orch-chats/*/sub-agents/*/tool-calls', 'Tools called within a sub-agent'],
  ['sessions', 'Sessions'],
  ['spaces', 'Spaces'],
  ['spaces/*/memberships', 'Members of spaces'],
  ['runs', 'Runs'],
] as const;

export const eventWords = { create: 'It is made', update: 'It changes', delete: 'It is deleted' } as const;
