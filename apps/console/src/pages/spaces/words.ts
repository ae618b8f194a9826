import type { Api } from '@troupe/sdk';

/** What stands beside the conversation. `chat` is that itself, where the window is narrow. */
export const SPACE_PANELS = ['chat', 'members', 'search', 'tasks', 'runs', 'settings', 'events'] as const;
export type SpacePanel = (typeof SPACE_PANELS)[number];

export const policyWords: Record<Api.SpacePolicy, { label: string; about: string }> = {
  all: { label: 'Everybody', about: 'Every message starts all agents but the one that said it.' },
  mentions: {
    label: 'Those who are mentioned',
    about: 'A message starts the agents that it names as @name. In a space of two, the other one.',
  },
  humans: {
    label: 'People only',
    about: 'Messages of people start all agents; messages of agents start none.',
  },
};

export const policyOptions = Object.entries(policyWords).map(
  ([policy, { label }]) => [policy as Api.SpacePolicy, label] as const,
);
