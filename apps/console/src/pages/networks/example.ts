import { type Api, ApiError } from '@troupe/sdk';
import { troupe } from '../../data/client.ts';

const TOOL = 'lookup';

/** Three agents and a tool, small enough to be read at a glance; the demo model can follow it too. */
const example = {
  description: 'An example: one understands, one looks up, one answers.',
  tools: [
    {
      key: TOOL,
      description: 'Looks something up.',
      params: [{ name: 'query', schema: { type: 'string' } }],
    },
  ],
  agents: [
    {
      key: 'front',
      displayName: 'Front desk',
      description: 'Understands what is asked.',
      prompt: 'Find out what is needed, and hand it over. Do not answer by yourself.',
      isDefault: true,
      routes: ['researcher'],
    },
    {
      key: 'researcher',
      displayName: 'Researcher',
      description: 'Looks up what an answer needs.',
      prompt: 'Look up what is needed, then hand over to the writer.',
      tools: [TOOL],
      routes: ['writer'],
    },
    {
      key: 'writer',
      displayName: 'Writer',
      description: 'Writes the answer.',
      prompt: 'Answer in two sentences, with what was found.',
      allowRespond: true,
    },
  ],
} satisfies Omit<Parameters<typeof troupe.networks.create>[0]['body'], 'name'>;

/** What to ask it, such that the path is worth looking at. */
export const EXAMPLE_INPUT = 'How much is 12 * 12?';

export async function createExample(name: string): Promise<Api.Network> {
  try {
    await troupe.tools.create({
      body: { name: TOOL, kind: 'echo', description: 'Answers what it was asked, for examples.' },
    });
  } catch (error) {
    // The project has one of this name: that is taken as it is.
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  }
  return troupe.networks.create({ body: { ...example, name } });
}
