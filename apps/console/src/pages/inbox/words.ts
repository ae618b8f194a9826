export const INBOX_KINDS = ['approval', 'tool', 'question', 'doubt', 'delivery'] as const;
export type InboxKind = (typeof INBOX_KINDS)[number];

export const kindWords: Record<InboxKind, { many: string; about: string }> = {
  approval: { many: 'Approvals', about: 'Calls that a person must approve first.' },
  tool: { many: 'Tools', about: 'Calls that a client, or somebody in a space, answers.' },
  question: { many: 'Questions', about: 'What sub-agents ask.' },
  doubt: { many: 'In doubt', about: 'Calls of which a crash left unknown whether they took effect.' },
  delivery: { many: 'Dead letters', about: 'Deliveries of triggers that were given up.' },
};
