export const INBOX_KINDS = ['approval', 'tool', 'question', 'doubt', 'delivery'] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

export const kindWords: Record<InboxKind, { one: string; many: string; about: string }> = {
  approval: { one: 'Approval', many: 'Approvals', about: 'Calls that a person must approve first.' },
  tool: { one: 'Tool', many: 'Tools', about: 'Calls that a client, or somebody in a space, answers.' },
  question: { one: 'Question', many: 'Questions', about: 'What sub-agents ask.' },
  doubt: {
    one: 'In doubt',
    many: 'In doubt',
    about: 'Calls of which a crash left unknown whether they took effect.',
  },
  delivery: { one: 'Dead letter', many: 'Dead letters', about: 'Deliveries of triggers that were given up.' },
};
