import { type SourceDocument, shown } from './document.ts';

const doc = 'documents/tasks';
const task = `${doc} > 004: a task document has the fields of the document`;
const subAgent = `${doc} > 004: a sub-agent document has the fields of the document`;
const messages = `${doc} > 004: the messages of a sub-agent are documents in the shape of models`;
const calls = `${doc} > 004: the tool calls of a sub-agent are documents under the ids that its messages name`;
const failing = `${doc} > 004: a task that fails has its error, and its sub-agent has failed`;
const waiting = `${doc} > 004: a task that waits for the user shows it, and so does its sub-agent`;
const schemas = `${doc} > 004: the schemas of the four collections are flat, with a primary key, enums and indexes`;
const started = 'tasks/sub-agent-id > 004: subAgentId is populated when the sub-agent starts';
const documents =
  'sync/documents > a sub-agent: one document for what a model answered at once, results under the ids of their calls';
const rights =
  'sync/rights > a person has their own, a key all of the project or what a person has, and nobody anything of others';
const rxdb =
  'sync/rxdb > all collections: pulled, followed live, and the same after both sides went on without each other';
const fires =
  'triggers/flow > each of them fires when the source says, is answered, and nothing is done twice; others hear of each end once';
const six =
  'triggers/rules > the six rules of the source load as they stand, and the server answers what they tell: done already';
const conditions =
  'triggers/conditions > a condition sees the document in both spellings, what it was before, and whole numbers as such';
const performs = 'tasks/outside > start the run of a message of a session that has none, once';
const indexes = `${doc} > 004: the schemas of the four collections are flat, with a primary key, enums and indexes`;

export const tasks: SourceDocument = {
  number: '004',
  title: 'tasks, sub-agents and triggers',
  sections: [
    {
      title: 'Task',
      requirements: [
        shown('004-01', 'A task has an `id`.', task),
        shown('004-02', 'It has a `userId`, which decides who may read it.', task, rights),
        shown('004-03', 'It has a `chatId`.', task),
        shown(
          '004-04',
          'Its type is `agent` or `tool`.',
          task,
          'tasks/tasks > a tool: called once, with its result as a message; one that cannot be called is told at once',
          schemas,
        ),
        shown('004-05', 'Its name has the form `agent:researcher`.', task),
        shown('004-06', 'It has an instruction.', task),
        shown('004-07', 'Its `subAgentId` is set when the sub-agent starts.', started),
        shown('004-08', 'It has the `triggerMessageId` of the message in the chat.', task),
        shown(
          '004-09',
          'It is `pending` first.',
          'tasks/flow > a task is given in the foreground, a sub-agent does it, and the agent goes on with the result',
          started,
        ),
        shown(
          '004-10',
          'It is `running` while the sub-agent works.',
          `${doc} > 004: a task runs and its sub-agent is active while the sub-agent works`,
        ),
        shown('004-11', 'It ends as `success` with a result.', task),
        shown(
          '004-12',
          'It ends as `failed` with an error.',
          failing,
          'triggers/flow > a task that fails is told too',
        ),
        shown('004-13', 'It is `waiting` while it needs an answer.', waiting),
        shown('004-14', 'It has `createdAt` and `updatedAt` in milliseconds.', task),
        shown(
          '004-15',
          'It can be created from outside, by HTTP or a push, for an agent or a tool.',
          'tasks/outside > creates a task for an agent in a session, under the id that it is given, once',
          'tasks/outside > creates a task for a tool, which is one call in the ledger',
          'tasks/outside > creates a task under the id of its document; the server alone changes it',
        ),
      ],
    },
    {
      title: 'Sub-agent',
      requirements: [
        shown('004-16', 'A sub-agent has an `id`.', subAgent),
        shown('004-17', 'It has a `userId`.', subAgent, rights),
        shown('004-18', 'It has a `chatId`.', subAgent),
        shown('004-19', 'It has the `taskId` of its task.', subAgent),
        shown(
          '004-20',
          'Its role is an agent of the project; `general` and `researcher` exist from the start.',
          subAgent,
          `${doc} > 004: every project has the roles general and researcher`,
          'agents/first-agents > a project has general and researcher from the start, as agents that can be changed',
        ),
        shown(
          '004-21',
          'It is `active` while it works.',
          `${doc} > 004: a task runs and its sub-agent is active while the sub-agent works`,
        ),
        shown('004-22', 'It ends as `completed`.', subAgent),
        shown('004-23', 'It ends as `failed`.', failing),
        shown('004-24', 'It is `waiting_for_user` while it asks.', waiting),
        shown(
          '004-25',
          '`iterationCount` counts its loops.',
          subAgent,
          'http/tasks > counts the model calls of the run at work, and of those that are over',
        ),
        shown(
          '004-26',
          'The count is a guard: loops come to an end.',
          'tasks/tasks > loops: its last step has no tools, and what it says then is the result',
          'tasks/tasks > loops and does not even stop then: it fails with a name, and whoever gave it goes on',
        ),
        shown('004-27', 'It has `createdAt` and `updatedAt` in milliseconds.', subAgent),
      ],
    },
    {
      title: 'Message of a sub-agent',
      requirements: [
        shown('004-28', 'A message has an `id`.', messages, documents),
        shown('004-29', 'It has a `userId`.', messages),
        shown('004-30', 'It has a `subAgentId`.', messages),
        shown('004-31', 'Its role is `system`, `user`, `assistant` or `tool`.', messages, schemas),
        shown('004-32', 'Its content is a text.', messages),
        shown('004-33', 'A result names its call in `toolCallId`.', messages, calls),
        shown('004-34', 'An answer with calls has `toolCalls` in the form of OpenAI.', messages, documents),
        shown('004-35', 'The arguments of a call are a text of JSON.', messages, documents),
        shown('004-36', 'A result has the `name` of its tool.', messages),
        shown('004-37', 'It has `createdAt` in milliseconds.', messages),
        shown(
          '004-38',
          'The internal steps are stored: each answer, call and result.',
          messages,
          'http/tasks > shows what was said within as models are given it, and the calls, page by page',
        ),
      ],
    },
    {
      title: 'Tool call of a sub-agent',
      requirements: [
        shown('004-39', 'A tool call has an `id`, which messages use as `toolCallId`.', calls),
        shown('004-40', 'It has a `userId`.', calls),
        shown('004-41', 'It has a `subAgentId`.', calls),
        shown('004-42', 'It has a `toolName`.', calls),
        shown('004-43', 'It has `args`.', calls),
        shown(
          '004-44',
          'It is `pending` until it ends.',
          documents,
          'triggers/captures > a task and what happens within its sub-agent: one document for each answer, however many rows it has',
        ),
        shown('004-45', 'It ends as `success` with a result.', calls),
        shown(
          '004-46',
          'It ends as `failed` with an error.',
          `${doc} > 004: a tool call of a sub-agent that fails has its error`,
        ),
        shown('004-47', 'It has `createdAt` in milliseconds.', calls),
      ],
    },
    {
      title: 'Trigger on-user-message',
      requirements: [
        shown('004-48', 'The rule loads as it is written.', six),
        shown(
          '004-49',
          'It matches messages of chats of all users.',
          six,
          'triggers/users > a rule over the external id %s fires for that user only',
        ),
        shown('004-50', 'It fires for new messages of users only.', fires),
        shown(
          '004-51',
          'It calls `/webhook/orchestrator`, which answers the message if no run does.',
          six,
          performs,
        ),
      ],
    },
    {
      title: 'Trigger on-new-task',
      requirements: [
        shown('004-52', 'The rule loads as it is written.', six),
        shown('004-53', 'It matches tasks of chats.', six),
        shown('004-54', 'It fires for new tasks of agents.', fires),
        shown('004-55', 'It calls `/webhook/agent-init`, which finds the sub-agent started.', six, fires),
      ],
    },
    {
      title: 'Trigger on-sub-agent-message',
      requirements: [
        shown('004-56', 'The rule loads as it is written.', six),
        shown('004-57', 'It matches messages of sub-agents.', six),
        shown(
          '004-58',
          'Its condition takes users and tools by `event.document.data.role`.',
          fires,
          conditions,
        ),
        shown('004-59', 'It calls `/webhook/agent-loop`.', six, fires),
        shown(
          '004-60',
          'Assistant messages never start the loop.',
          fires,
          'tasks/parallel.race > what an assistant says starts nothing',
        ),
      ],
    },
    {
      title: 'Trigger on-sub-agent-tool',
      requirements: [
        shown('004-61', 'The rule loads as it is written.', six),
        shown('004-62', 'It matches tool calls of sub-agents.', six),
        shown('004-63', 'It fires for new calls that are pending.', fires),
        shown('004-64', 'It calls `/webhook/tool-runner`.', six, fires),
      ],
    },
    {
      title: 'Trigger on-task-completed',
      requirements: [
        shown('004-65', 'The rule loads as it is written.', six),
        shown(
          '004-66',
          'It fires once when a task becomes `success`.',
          six,
          fires,
          'triggers/conditions > an update fires where it makes the condition true; a rule can ask for every one',
        ),
        shown(
          '004-67',
          'It calls `/webhook/orchestrator-finalize`, which notifies the agent of the chat.',
          six,
          'tasks/outside > notify the agent of the session once about the question and once about the end of a task from outside',
        ),
        shown(
          '004-68',
          'The agent goes on with the result of its task.',
          'tasks/tasks > the agent goes on at once, and is told of the result once, by a message that starts a run',
          'tasks/flow > a task is given in the foreground, a sub-agent does it, and the agent goes on with the result',
        ),
      ],
    },
    {
      title: 'Trigger on-task-waiting',
      requirements: [
        shown('004-69', 'The rule loads as it is written.', six),
        shown('004-70', 'It fires when a task becomes `waiting`.', six, fires),
        shown(
          '004-71',
          'It calls `/webhook/orchestrator-notify`, which notifies the agent of the chat.',
          six,
          'tasks/outside > notify the agent of the session once about the question and once about the end of a task from outside',
        ),
        shown(
          '004-72',
          'The question reaches the user, and the answer the sub-agent.',
          'tasks/flow > user → orchestrator → task → sub-agent → parallel tools → question → answer in the chat → final → said in the chat',
          'tasks/answer > stands in the inbox and on the task, and a person answers it (background: $background)',
        ),
      ],
    },
    {
      title: 'Indexes',
      requirements: [
        shown('004-73', 'Tasks have an index on `chatId`.', indexes),
        shown('004-74', 'Tasks have an index on `userId`.', indexes),
        shown('004-75', 'Tasks have an index on `triggerMessageId`.', indexes),
        shown('004-76', 'Sub-agents have an index on `userId`.', indexes),
        shown('004-77', 'Sub-agents have an index on `taskId`.', indexes),
        shown('004-78', 'Messages have an index on `userId`.', indexes),
        shown('004-79', 'Messages have an index on `subAgentId`.', indexes),
        shown('004-80', 'Messages have an index on `createdAt`.', indexes),
        shown('004-81', 'Tool calls have an index on `userId`.', indexes),
        shown('004-82', 'Tool calls have an index on `subAgentId`.', indexes),
        shown('004-83', 'The user of a document decides who may read and copy it.', rights),
        shown(
          '004-84',
          'The context of a sub-agent is read whole and in order.',
          messages,
          'tasks/tasks > reactivates a sub-agent, which remembers',
        ),
      ],
    },
    {
      title: 'RxDB',
      requirements: [
        shown(
          '004-85',
          'The schemas are valid for RxDB, and a real client replicates with them.',
          rxdb,
          schemas,
        ),
        shown('004-86', 'Unions are enums.', schemas),
        shown('004-87', 'The primary key is explicit.', schemas),
        shown('004-88', 'Indexes are at the top level.', schemas),
        shown('004-89', 'References are plain strings.', schemas),
        shown(
          '004-90',
          'Collections are flat: `tasks`, `sub_agents`, `sub_agent_messages`, `sub_agent_tool_calls`.',
          schemas,
          rxdb,
        ),
      ],
    },
    {
      title: 'Trigger syntax',
      requirements: [
        shown(
          '004-91',
          'Conditions are CEL and checked when they are saved.',
          'triggers/conditions > what can never be right is refused when it is saved, with the place',
        ),
        shown('004-92', '`event.document.data.role` is accessible in conditions.', conditions),
        shown(
          '004-93',
          '`*` matches one segment of a path, also in `users/*/orch-chats/*/sub-agents/*/messages`.',
          'triggers/conditions > * is one segment; a path that no collection has matches none',
          documents,
        ),
        shown(
          '004-94',
          'A rule that can never match is reported.',
          'triggers/users > ids of a path that do not exist, or not together, are reported',
          'triggers/users > a condition that no document fulfils is reported',
        ),
        shown(
          '004-95',
          'A delivery that is repeated changes nothing.',
          fires,
          'triggers/kill.crash > killed anywhere between a change and the note that it was delivered: another process delivers it, under the same id',
        ),
      ],
    },
  ],
};
