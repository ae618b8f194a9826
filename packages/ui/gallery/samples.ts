import type { GraphAgent } from '../src/graph/index.ts';
import type { ShownTask, TimelineSpan } from '../src/index.ts';

/** So long ago, in minutes. */
export const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

export const LARGE = Array.from({ length: 120 }, (_, index) => ({
  id: index,
  name: `Item ${index}`,
  tags: ['one', 'two'],
  isOpen: index % 3 === 0,
  score: index / 7,
  nothing: null,
}));

export const TASKS: ShownTask[] = [
  {
    id: 'a',
    name: 'agent:researcher',
    status: 'running',
    instruction: 'Find out which database the three competitors use, with sources.',
    createdAt: ago(3),
    updatedAt: ago(1),
  },
  {
    id: 'b',
    name: 'tool:web_search',
    status: 'success',
    parentTaskId: 'a',
    instruction: 'durable agent runtime postgres',
    result: 'Eleven results, the first of which is the documentation of a queue on Postgres.',
    background: true,
    createdAt: ago(2.9),
    updatedAt: ago(2.5),
  },
  {
    id: 'c',
    name: 'agent:general-assistant-with-a-very-long-name-that-does-not-fit',
    status: 'waiting',
    parentTaskId: 'a',
    instruction: 'Write the summary.',
    question: 'In which colour should the headline be?',
    createdAt: ago(2),
    updatedAt: ago(1),
  },
  {
    id: 'd',
    name: 'agent:writer',
    status: 'failed',
    parentTaskId: 'c',
    instruction: 'Write it.',
    error: 'The provider was overloaded three times in a row.',
    createdAt: ago(1.9),
    updatedAt: ago(1.5),
  },
  { id: 'e', name: 'agent:critic', status: 'pending', instruction: 'Read it.', createdAt: ago(1) },
  { id: 'f', name: 'agent:painter', status: 'canceled', createdAt: ago(1), updatedAt: ago(0.5) },
];

const START = Date.now() - 20_000;
const span = (
  kind: TimelineSpan['kind'],
  name: string,
  from: number,
  to: number | null,
  status: string,
  depth = 0,
): TimelineSpan => ({
  ...{ id: `${kind} ${name} ${from}`, kind, name, status, depth },
  startedAt: START + from,
  endedAt: to === null ? null : START + to,
});

export const SPANS: TimelineSpan[] = [
  span('queue', 'In the queue', 0, 420, 'completed'),
  { ...span('attempt', 'gpt-large', 420, 2_100, 'failed'), step: 1, facts: [['Error', 'overloaded']] },
  {
    ...span('model', 'gpt-large', 2_600, 6_200, 'completed'),
    step: 1,
    facts: [['Tokens', '12,400 in, 380 out']],
  },
  span('tool', 'web_search', 6_210, 7_900, 'completed', 1),
  span('tool', 'http_fetch_with_a_name_that_is_much_too_long_for_its_column', 6_210, 6_900, 'failed', 1),
  span('task', 'researcher', 6_300, 13_500, 'completed', 1),
  span('model', 'small', 6_800, 9_000, 'completed', 2),
  span('takeover', 'Another worker took it over', 13_600, 13_640, 'completed'),
  span('wait', 'Waiting for approval', 13_700, 17_900, 'completed'),
  span('model', 'gpt-large', 18_000, null, 'running'),
];

export const MANY_SPANS: TimelineSpan[] = Array.from({ length: 2_000 }, (_, index) =>
  span(
    index % 3 === 0 ? 'model' : 'tool',
    `${index % 3 === 0 ? 'model' : 'tool'} ${index}`,
    index * 250,
    index * 250 + 200 + ((index * 7919) % 900),
    index % 97 === 0 ? 'failed' : 'completed',
    index % 3 === 0 ? 0 : 1,
  ),
);

export const AGENTS: GraphAgent[] = [
  {
    key: 'triage',
    displayName: 'Triage',
    description: 'Reads what is asked and hands it to whoever knows about it.',
    isDefault: true,
    routes: ['billing', 'research', 'writer'],
    tools: ['lookup_customer'],
  },
  {
    key: 'billing',
    allowRespond: true,
    tools: ['refund', 'invoice', 'ledger', 'mail', 'phone', 'fax'],
    routes: ['triage', 'writer'],
  },
  { key: 'research', displayName: 'Research', tools: ['web_search'], routes: ['writer', 'checker'] },
  {
    key: 'checker',
    displayName: 'Checker of everything that was found anywhere',
    routes: ['research', 'writer'],
  },
  { key: 'writer', displayName: 'Writer', allowRespond: true, description: 'Says it well.' },
];
