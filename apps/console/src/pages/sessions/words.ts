import type { Api } from '@troupe/sdk';

export const SESSION_STATUSES = ['pending', 'running', 'waiting', 'failed'] as const;

/** What stands beside the chat. `chat` itself is one of them where the window is narrow. */
export const SESSION_PANELS = ['chat', 'tasks', 'files', 'todos', 'findings', 'runs', 'events'] as const;
export type SessionPanel = (typeof SESSION_PANELS)[number];

/** What the demo model understands, for those who have no idea what to say; only what this agent has the means for. */
const suggestions: [needs: string | null, text: string][] = [
  [null, 'How much is 2+2?'],
  ['current_time', 'What time is it?'],
  ['delegation', 'Delegate to general in the background: what is 6 times 7?'],
];

export function suggestionsFor(agent: Pick<Api.Agent, 'capabilities'> | undefined): string[] {
  const has = new Set(agent?.capabilities.map(({ id }) => id));
  return suggestions.filter(([needs]) => needs === null || has.has(needs)).map(([, text]) => text);
}
