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
  planned('sandbox', {
    name: 'Sandbox',
    description: 'Runs code where it can do no harm.',
    icon: 'box',
    category: 'execution',
  }),
  planned('file_system', {
    name: 'Files',
    description: 'Reads and writes files of the session.',
    icon: 'hard-drive',
    category: 'execution',
  }),
  planned('todo_list', {
    name: 'To-do list',
    description: 'Writes down what is to be done and ticks it off.',
    icon: 'list-checks',
    category: 'utilities',
  }),
  planned('delegation', {
    name: 'Delegation',
    description: 'Hands work to other agents and waits for what they bring.',
    icon: 'users',
    category: 'collaboration',
  }),
];
