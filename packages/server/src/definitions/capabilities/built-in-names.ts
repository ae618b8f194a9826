import { memory } from './memory.ts';

// Tools that a door gives to every agent. They replace tools of the agent with the same name, so an agent cannot have one.
// A test compares the list with the tools of the doors.

const SPACE_TOOLS = [
  'send_message',
  'enter_space',
  'read_messages',
  'absorb_run',
  'stop_run',
  'get_my_runs',
  'set_plans',
  'get_plans',
  'delete_plans',
];

const owners = new Map([
  ...SPACE_TOOLS.map((name): [string, string] => [name, 'every agent has in spaces']),
  ...memory.tools.map(({ name }): [string, string] => [
    name,
    'the capability "memory" has, like every agent in spaces',
  ]),
  ['recall', 'every agent has in sessions and tasks'],
  ...['final_answer', 'ask_user'].map((name): [string, string] => [name, 'every sub-agent has']),
]);

/** Who has a built-in tool of this name, as the end of a sentence: "…, which every agent has in spaces". */
export function builtInOwner(name: string): string | undefined {
  return owners.get(name.toLowerCase());
}
