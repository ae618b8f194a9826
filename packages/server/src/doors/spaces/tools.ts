import { type AgentSnapshot, type JsonObject, type SnapshotTool, snapshotTool } from '@troupe/protocol';
import { findCapability } from '../../definitions/capabilities/index.ts';
import { planTools } from './plan-tools.ts';

// What every agent can do in a space, whatever else it carries. What executes them is in acts.ts.

const id = { type: 'string', minLength: 1, maxLength: 100 };

function tool(
  name: string,
  description: string,
  properties: JsonObject,
  { required = [], effect = 'idempotent' }: { required?: string[]; effect?: 'pure' | 'idempotent' } = {},
): SnapshotTool {
  return snapshotTool.parse({
    name,
    description,
    provider: 'builtin',
    effect,
    timeoutMs: 30_000,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  });
}

const wait = {
  type: 'object',
  description: 'Wait for replies before you go on. They are the result of this call.',
  properties: {
    for: {
      type: 'array',
      items: id,
      minItems: 1,
      maxItems: 50,
      description: 'Entity ids; all of them have to reply. Left out: the first reply by anyone is enough.',
    },
    timeoutMs: {
      type: 'integer',
      minimum: 1_000,
      maximum: 86_400_000,
      description:
        'After so many milliseconds you go on with the replies that came. 300000 where it is left out.',
    },
  },
  additionalProperties: false,
};

const sendMessage = (mayWait: boolean) =>
  tool(
    'send_message',
    'Says something in the active space. Everybody there reads it, and the other agents are started by it. You go on at once.',
    { text: { type: 'string', minLength: 1, maxLength: 100_000 }, ...(mayWait ? { wait } : {}) },
    { required: ['text'] },
  );

const others = [
  tool(
    'enter_space',
    'Switches to another of your spaces: your later messages and visible results go there. Returns its last messages, in `lines` marked [SEEN] or [NEW] as in HISTORY.',
    {
      spaceId: { ...id, description: 'One of YOUR SPACES.' },
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many messages. Default: 20.' },
    },
    { required: ['spaceId'] },
  ),
  tool('read_messages', 'Reads what was said in a space, oldest first, without turning to it.', {
    spaceId: { ...id, description: 'Default: the active space.' },
    limit: { type: 'integer', minimum: 1, maximum: 200, description: 'How many. Default: 50.' },
    offset: {
      type: 'integer',
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'How many of the newest to pass over.',
    },
    search: { type: 'string', minLength: 1, maxLength: 200, description: 'Only those that contain this.' },
  }),
  tool(
    'absorb_run',
    'Stops another of your own runs and takes over what it was about: its trigger and all that it did.',
    { runId: { ...id, description: 'One of ACTIVE RUNS.' } },
    { required: ['runId'] },
  ),
  tool('stop_run', 'Stops another of your own runs.', { runId: id }, { required: ['runId'] }),
  tool(
    'get_my_runs',
    'Lists your runs with what each has done, the newest first.',
    {
      status: {
        type: 'string',
        enum: ['queued', 'running', 'waiting_tool', 'waiting_reply', 'completed', 'failed', 'canceled'],
      },
      limit: { type: 'integer', minimum: 1, maximum: 50, description: 'Default: 10.' },
    },
    { effect: 'pure' },
  ),
  // What an agent keeps is its own here: everybody in the space talks to the same one.
  ...findCapability('memory')!.tools.map((one) => ({ ...one, config: { per: 'agent' } })),
  ...planTools,
];

const speaking = [sendMessage(false), ...others];
const waiting = [sendMessage(true), ...others];

export function spaceTools(snapshot: AgentSnapshot): SnapshotTool[] {
  return snapshot.replyWaiting ? waiting : speaking;
}
