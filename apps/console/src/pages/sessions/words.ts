export const SESSION_STATUSES = ['pending', 'running', 'waiting', 'failed'] as const;

/** What stands beside the chat. `chat` itself is one of them where the window is narrow. */
export const SESSION_PANELS = ['chat', 'tasks', 'files', 'todos', 'findings', 'runs', 'events'] as const;
export type SessionPanel = (typeof SESSION_PANELS)[number];

/** What the demo model understands, for those who have no idea what to say. */
export const SUGGESTIONS = [
  'How much is 2+2?',
  'What time is it?',
  'Delegate to general in the background: what is 6 times 7?',
];
