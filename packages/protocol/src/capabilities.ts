import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { jsonObject } from './json.ts';

export const capabilityId = z.string().regex(/^[a-z][a-z0-9_]{0,49}$/);

export const capability = z.object({
  id: capabilityId,
  name: z.string(),
  description: z.string(),
  status: z.enum(['available', 'coming_soon', 'deprecated']),
  icon: z.string().nullable(),
  category: z.string().nullable(),
  configSchema: jsonObject.describe('What an agent may set for it, as JSON Schema.'),
  includes: z.array(capabilityId).describe('Capabilities that it brings along.'),
});
export type Capability = z.infer<typeof capability>;

export const capabilityEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/v1/capabilities',
    tag: 'capabilities',
    summary: 'Everything that an agent can carry',
    scope: 'agents:read',
    status: 200,
    response: z.object({ data: z.array(capability) }),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/capabilities/{capabilityId}',
    tag: 'capabilities',
    summary: 'One capability, with its prompt and tools',
    scope: 'agents:read',
    params: z.object({ capabilityId }),
    status: 200,
    response: capability.extend({
      prompt: z.string(),
      tools: z.array(z.object({ name: z.string(), description: z.string() })),
    }),
  }),
} as const;
