import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

function planned(
  id: string,
  {
    name,
    description,
    icon,
    category,
  }: { name: string; description: string; icon: string; category: string },
): CapabilityEntry {
  const status = 'coming_soon' as const;
  return {
    id,
    name,
    description,
    status,
    icon,
    category,
    prompt: '',
    tools: [],
    config: z.strictObject({}),
  };
}

/** Known by name already, so that nobody takes the names for something else; no agent can carry them yet. */
export const plannedCapabilities: CapabilityEntry[] = [
  planned('delegation', {
    name: 'Delegation',
    description: 'Hands work to other agents and waits for what they bring.',
    icon: 'users',
    category: 'collaboration',
  }),
];
