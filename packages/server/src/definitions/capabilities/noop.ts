import { z } from 'zod';
import type { CapabilityEntry } from './entry.ts';

export const noop: CapabilityEntry = {
  id: 'noop',
  name: 'Nothing',
  description: 'Adds nothing; for trying out what carrying a capability means.',
  status: 'available',
  icon: 'circle-off',
  category: 'testing',
  prompt: '',
  tools: [],
  config: z.strictObject({}),
};
