import { type SourceDocument, shown } from './document.ts';

const doc = 'documents/spaces';
const lines = 'spaces/documents';
const scenario = 'spaces/scenarios';
const seen = 'spaces/seen';
const other = 'spaces/other-runs';
const defects = 'spaces/defects';
const enter = `${doc} > 001: enter_space gives the name and the last messages of the space, and refuses others`;
const speak = `${doc} > 001: send_message takes a text, and the space is the active one`;
const read = `${doc} > 001: read_messages reads the active space or another one, page by page`;
const equipped = `${doc} > 001: every agent in a space has the built-in tools of the document, and none of the removed ones`;
const moving = `${doc} > 000: a run shows the space that it is in, which is its trigger’s first and changes by enter_space`;
const absorb = `${other} > stops the model call of the other run, and takes its trigger and all that it did`;
const refusedAbsorb = `${other} > itself, one that has ended, one of another agent and one that is not there: told, and nothing changes`;
const history = `${lines} > 001: history lines are [marker] [msgId] [timestamp] SenderName (type): "content"`;
const instructions = `${doc} > 001: the instructions of the prompt say how to speak, to be silent, to keep state and to absorb runs`;
const reading = `${lines} > 001: INSTRUCTIONS say to use read_messages to load conversation history, also in plan runs`;

export const blueprint: SourceDocument = {
  number: '001',
  title: 'spaces of stateless runs',
  sections: [
    {
      title: 'Stateless runs',
      requirements: [
        shown(
          '001-01',
          'Every message starts runs of its own.',
          `${scenario} > Multi-turn conversation (3 exchanges)`,
        ),
        shown(
          '001-02',
          'Without the option to wait, nothing waits for a reply: the default is stateless.',
          'spaces/replies > an agent that may not wait is told so',
          `${scenario} > Agent sends message, human replies`,
        ),
        shown(
          '001-03',
          'Continuity comes from markers in the history.',
          `${scenario} > Agent sends message, human replies`,
        ),
        shown(
          '001-04',
          'Continuity comes from memories.',
          `${scenario} > Agent uses \`set_memories\` to store state, next run reads it`,
        ),
        shown(
          '001-05',
          'Continuity comes from goals.',
          'http/memory > goals: added, changed, read and deleted; an unknown id is an error, and then nothing is written',
        ),
      ],
    },
    {
      title: 'Schema',
      requirements: [
        shown('001-06', 'A run has `activeSpaceId`.', moving),
        shown(
          '001-07',
          'A membership has `lastProcessedMessageId`.',
          `${doc} > 000: a membership keeps the last message that its agent has processed`,
        ),
        shown(
          '001-08',
          'A membership has `lastSeenMessageId`.',
          `${doc} > 001: a membership keeps the last message that its person has seen`,
          'http/spaces.people > a read marker goes forwards only, and tells when it does',
        ),
        shown('001-09', 'There is no admin agent.', `${doc} > 000: a space has no admin agent`),
        shown(
          '001-10',
          'Reply waiting of document 000 is an option; its status is not used otherwise.',
          'spaces/replies > an agent that may not wait is told so',
        ),
      ],
    },
    {
      title: 'enter_space',
      requirements: [
        shown(
          '001-11',
          'The tool takes `spaceId`, which is required.',
          enter,
          `${seen} > whatever names no space or nobody is told back as it was written`,
        ),
        shown('001-12', 'It takes `limit`, the number of messages to load.', enter),
        shown(
          '001-13',
          'Without `limit` it loads the last messages.',
          `${lines} > 001: enter_space loads the last messages with [SEEN]/[NEW] markers`,
        ),
        shown('001-14', 'The agent must be a member.', enter),
        shown('001-15', 'It sets the active space of the run.', moving),
        shown(
          '001-16',
          'The messages come with markers for seen and new.',
          `${lines} > 001: enter_space loads the last messages with [SEEN]/[NEW] markers`,
        ),
        shown(
          '001-17',
          'The result has `success`, `spaceId`, `spaceName`, `history` and `totalMessages`.',
          enter,
        ),
        shown(
          '001-18',
          'Messages and visible results after it go to that space.',
          `${scenario} > Agent enters Space A, sends message, enters Space B, sends message`,
          'spaces/visible > Agent calls visible tool after `enter_space`',
        ),
      ],
    },
    {
      title: 'send_message',
      requirements: [
        shown('001-19', 'The tool takes a required `text` and nothing else.', speak),
        shown('001-20', 'It reads the active space from the run.', speak),
        shown(
          '001-21',
          'Without an active space it is an error that says to enter one.',
          `${defects} > that a run without a space speaks nowhere and does not learn of it is not so here`,
          `${scenario} > Plan triggers agent`,
        ),
        shown('001-22', 'It stores a message in the space.', speak),
        shown(
          '001-23',
          'The text streams while the model writes it.',
          'spaces/live > text is live in the space, whole for who comes late, and replaced by the message of the same id',
        ),
        shown(
          '001-24',
          'It starts all other agents of the space and not the sender.',
          `${scenario} > Agent sends message in space with 2 other agents`,
        ),
        shown('001-25', 'The result has `success`, `messageId` and the status `delivered`.', speak),
        shown(
          '001-26',
          'The run continues at once.',
          `${scenario} > Agent enters Space A, sends message, enters Space B, sends message`,
        ),
      ],
    },
    {
      title: 'read_messages',
      requirements: [
        shown('001-27', 'The tool reads the active space by default.', read),
        shown('001-28', '`spaceId` reads another space without entering it.', read),
        shown('001-29', '`limit` bounds the number of messages.', read),
        shown('001-30', '`offset` pages back.', read),
        shown(
          '001-31',
          'Without an active space and `spaceId` it is an error.',
          `${doc} > 001: read_messages without an active space and without a space is an error`,
        ),
      ],
    },
    {
      title: 'Removed tools',
      requirements: [
        shown('001-32', 'There is no tool to delegate to another agent of the space.', equipped),
        shown('001-33', 'There is no tool to skip a response.', equipped),
        shown('001-34', 'There is no tool to mention an agent.', equipped),
        shown('001-35', 'There is no tool to reply to a message by its id.', equipped),
        shown('001-36', 'There are no tools to continue waiting or to resume a run.', equipped),
      ],
    },
    {
      title: 'absorb_run',
      requirements: [
        shown('001-37', 'The tool takes the `runId` of another run of the agent.', absorb),
        shown('001-38', 'Absorbing an unknown run is an error.', refusedAbsorb),
        shown('001-39', 'Only own runs can be absorbed.', refusedAbsorb),
        shown('001-40', 'Absorbing a run that has ended is an error with its status.', refusedAbsorb),
        shown(
          '001-41',
          'Running and queued runs can be absorbed.',
          absorb,
          `${other} > a run that waits to begin is absorbed with the messages that it was for, and these count as seen`,
        ),
        shown(
          '001-42',
          'The absorbed run is `canceled` with the reason `absorbed` and a time.',
          'kernel/absorb > that is running aborts it and gives every action that it took',
          absorb,
        ),
        shown(
          '001-43',
          'If two runs absorb the same run, the first wins and the other gets an error.',
          `${other} > of two that absorb the same run at once, the first wins`,
          'races/absorb.race > a third at once: the first wins, the other is told who did',
        ),
        shown('001-44', 'The model call of the absorbed run is aborted.', absorb),
        shown('001-45', 'The result has the trigger of the absorbed run.', absorb),
        shown(
          '001-46',
          'The result has its actions in order, each with tool, input and output.',
          absorb,
          'kernel/absorb > that is running aborts it and gives every action that it took',
        ),
        shown(
          '001-47',
          'The call is not visible in the space.',
          'spaces/guard > what runs call is in their own threads: the space has posts and what becomes of runs',
        ),
      ],
    },
    {
      title: 'Triggering',
      requirements: [
        shown(
          '001-48',
          'A message of a person starts all agents of the space.',
          `${scenario} > Human sends message in space with 3 agents`,
        ),
        shown(
          '001-49',
          'A message of an agent starts all other agents.',
          `${scenario} > Agent sends message in space with 2 other agents`,
        ),
        shown(
          '001-50',
          'The sender is never started.',
          `${scenario} > Agent sends message in space with 2 other agents`,
        ),
        shown(
          '001-51',
          'Nothing is debounced: each message starts runs.',
          `${defects} > that of messages in quick succession all but one are dropped is not so here`,
        ),
        shown(
          '001-52',
          'One message starts one run of an agent, however often it is posted.',
          `${scenario} > Same message triggers same agent twice (dedup)`,
        ),
        shown(
          '001-53',
          'The trigger of a run is `space_message`.',
          `${scenario} > Human sends message in space with 1 agent`,
        ),
        shown(
          '001-54',
          'The run has the space, message, content and sender of its trigger.',
          `${scenario} > Human sends message in space with 1 agent`,
          absorb,
        ),
        shown('001-55', 'The run begins in the space of its trigger.', moving),
        shown(
          '001-56',
          'Message and runs are stored together, and the response lists the runs.',
          `${defects} > that whoever posts is not told of the runs is not so here, also where it is posted again`,
        ),
      ],
    },
    {
      title: 'End of a run',
      requirements: [
        shown(
          '001-57',
          'A completed run updates `lastProcessedMessageId` of its agent.',
          `${doc} > 000: a membership keeps the last message that its agent has processed`,
        ),
        shown(
          '001-58',
          'Messages that the run was shown or sent count; messages that arrived during the run do not.',
          `${seen} > what comes while a run works is new to the next one`,
        ),
        shown(
          '001-59',
          'It counts in every space that the run was in.',
          `${seen} > a run that turns to another space has seen what it was shown in both, and its own trigger`,
        ),
        shown(
          '001-60',
          'A failed or canceled run updates nothing.',
          `${seen} > a run that failed or was canceled has seen nothing`,
        ),
      ],
    },
    {
      title: 'Prompt',
      requirements: [
        shown(
          '001-61',
          'The prompt has no instructions for an admin agent, mentions or waiting.',
          instructions,
        ),
        shown('001-62', 'Text outside of tools is private reasoning and kept short.', instructions),
        shown(
          '001-63',
          '`send_message` speaks; the trigger space is active, `enter_space` only switches.',
          instructions,
        ),
        shown('001-64', '`read_messages` loads history.', reading),
        shown(
          '001-65',
          'With nothing to say, the run ends without a message.',
          instructions,
          'models/empty-answers > 001: an agent with an empty answer is silent, and has seen the messages',
        ),
        shown('001-66', 'Runs are stateless: `set_memories` and `set_goals` keep state.', instructions),
        shown(
          '001-67',
          'Of related runs, the one with the latest trigger absorbs the older ones.',
          instructions,
        ),
        shown(
          '001-68',
          'Messages up to `lastProcessedMessageId` are `[SEEN]`, later ones `[NEW]`.',
          history,
          `${scenario} > Agent sends message, human replies`,
        ),
        shown('001-69', 'A line is marker, id, time, sender, type and content.', history),
        shown(
          '001-70',
          'Own messages are never new.',
          `${seen} > read_messages counts as shown; what an agent said itself never comes as new`,
        ),
        shown(
          '001-71',
          'The prompt lists the other active runs of the agent.',
          `${scenario} > Concurrent runs: same agent triggered twice by different messages`,
        ),
      ],
    },
    {
      title: 'Tools and their visibility',
      requirements: [
        shown('001-72', 'All agents have the built-in tools, in every space.', equipped),
        shown(
          '001-73',
          'A tool is visible if it says so.',
          'spaces/visible > hidden, result-only, and what of a call is not shown',
        ),
        shown(
          '001-74',
          'Calls of visible tools go to the active space.',
          'spaces/visible > Agent calls visible tool after `enter_space`',
          'spaces/visible > a visible tool needs a space to be seen in',
        ),
      ],
    },
    {
      title: 'SDKs',
      requirements: [
        shown(
          '001-75',
          'The SDK has no admin agent of a space.',
          'packages/sdk/test/space > 001: spaces of the SDK have no admin agent, and runs have their active space',
        ),
        shown(
          '001-76',
          'Runs of the SDK have `activeSpaceId`.',
          'packages/sdk/test/space > 001: spaces of the SDK have no admin agent, and runs have their active space',
        ),
        shown(
          '001-77',
          'Messages stream to React.',
          'packages/sdk/test/followed-space > live text grows, is replaced by its message in one change, and never comes back',
          'packages/sdk/test/followed-space > what an agent writes is live before it is said, and then a message, at no moment both or neither',
        ),
      ],
    },
    {
      title: 'Scenarios',
      requirements: [
        shown(
          '001-78',
          'A person writes in a space with one agent: it is started.',
          `${scenario} > Human sends message in space with 1 agent`,
        ),
        shown(
          '001-79',
          'A person writes in a space with three agents: three independent runs.',
          `${scenario} > Human sends message in space with 3 agents`,
        ),
        shown(
          '001-80',
          'An agent writes in a space with two others: both are started.',
          `${scenario} > Agent sends message in space with 2 other agents`,
        ),
        shown(
          '001-81',
          'An agent asks and a person replies: a new run sees its question as seen and the reply as new.',
          `${scenario} > Agent sends message, human replies`,
        ),
        shown(
          '001-82',
          'Three exchanges are three runs, each with the whole conversation.',
          `${scenario} > Multi-turn conversation (3 exchanges)`,
        ),
        shown(
          '001-83',
          'Memories that one run sets are in the prompt of the next.',
          `${scenario} > Agent uses \`set_memories\` to store state, next run reads it`,
        ),
        shown(
          '001-84',
          'A run that a plan starts has no active space until it enters one.',
          `${scenario} > Plan triggers agent`,
        ),
        shown(
          '001-85',
          'Messages go to the space that was entered last.',
          `${scenario} > Agent enters Space A, sends message, enters Space B, sends message`,
        ),
        shown(
          '001-86',
          'Two runs of one agent at once both execute and see each other.',
          `${scenario} > Concurrent runs: same agent triggered twice by different messages`,
        ),
        shown(
          '001-87',
          'The result of a visible tool is posted to the active space.',
          'spaces/visible > Agent calls visible tool after `enter_space`',
        ),
        shown(
          '001-88',
          'An agent with nothing to say ends without a message.',
          `${scenario} > Agent has nothing to say`,
        ),
        shown(
          '001-89',
          'The same message never starts an agent twice.',
          `${scenario} > Same message triggers same agent twice (dedup)`,
        ),
        shown(
          '001-90',
          'Agents that discuss come to an end by themselves.',
          `${scenario} > 3 agents in a space discuss a topic`,
          'spaces/guard > agents that always answer one another stop at the depth of the chain; a person is always heard',
        ),
      ],
    },
  ],
};
