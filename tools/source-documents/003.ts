import { type SourceDocument, shown } from './document.ts';

const doc = 'documents/sessions';
const row = 'http/documents';
const agent = `${doc} > 003: an agent has the fields of the document`;
const model = `${doc} > 003: the default model of an agent is a model of the project`;
const session = `${doc} > 003: a session has the fields of the document, and an agent has many at once`;
const failed = `${doc} > 003: a session that failed says when, and takes no message until it is retried`;
const message = `${doc} > 003: a message has the fields of the document, and its content follows from its role`;
const event = `${doc} > 003: an event has the fields of the document, and is numbered within its session`;
const announce = `${doc} > 003: events announce messages, which stay complete without them`;
const capabilities = `${doc} > 003: the built-in capabilities are listed with the fields of the document`;
const once = `${doc} > 003: an agent has each capability once, in the order of its list`;
const created = `${row} > 003: message.created - a new message of any role was created`;
const generating = `${row} > 003: step.generating - generation in progress, for every generation that streams`;
const eventId = `${row} > 003: the id of an event is a UUID v7, the same in every read`;
const junction = `${row} > 003: an AgentCapability has an id, the agent, the capability, a position and a creation time`;
const sum = 'http/sessions > answers how much 2+2 is: messages, statuses and events in their order';

export const sessions: SourceDocument = {
  number: '003',
  title: 'agents, sessions, messages, events and capabilities',
  sections: [
    {
      title: 'Agent',
      requirements: [
        shown('003-01', 'An agent has an `id`, a UUID v7.', agent),
        shown('003-02', 'It has a `name`.', agent),
        shown(
          '003-03',
          'Its name is unique among all agents of the project.',
          'http/agents > names are unique in a project without regard to case, archived ones included',
        ),
        shown('003-04', 'It has an optional description.', agent),
        shown(
          '003-05',
          'It has a system prompt for the model.',
          agent,
          'agents/current > the preview is what the run gets',
          'http/console > the prompt of every step is what the model got, of %s',
        ),
        shown('003-06', 'It has an optional default model, which is one of the project.', model),
        shown(
          '003-07',
          'It has tags to filter by.',
          agent,
          'http/agents > lists go page by page, newest first, by status, tag and search',
        ),
        shown(
          '003-08',
          'It is `active` or `archived`.',
          agent,
          'http/agents > archived agents are apart, keep their versions and come back',
        ),
        shown('003-09', 'It has a creation time.', agent),
        shown('003-10', 'It has the time of its last change.', agent),
        shown('003-11', 'It has many sessions at once.', session),
      ],
    },
    {
      title: 'Session',
      requirements: [
        shown('003-12', 'A session has an `id`, a UUID v7.', session),
        shown(
          '003-13',
          'It belongs to an agent.',
          session,
          'http/sessions > belongs to a person, an agent and a project; for all others it is not there',
        ),
        shown(
          '003-14',
          'It has a title: given, or made from the first message.',
          session,
          'http/sessions > names the session in whole characters',
        ),
        shown(
          '003-15',
          'It has tags to filter by.',
          session,
          'http/sessions > is listed newest first, page by page, by status, tag and user',
        ),
        shown(
          '003-16',
          'It has an optional model; without one, that of the agent counts.',
          model,
          'agents/current > the model is that of the message, else of the session, the agent, the project, the default, else the demo',
        ),
        shown(
          '003-17',
          'Its status is `pending`, `running`, `waiting` or `failed`.',
          sum,
          'http/sessions > runs while it answers and waits for whoever must act',
          failed,
        ),
        shown('003-18', 'It has a creation time.', session),
        shown('003-19', 'It has the time at which it first ran.', session),
        shown('003-20', 'It has a finish time only if it failed.', session, failed),
        shown('003-21', 'It goes from `pending` to `running` and back, without end.', sum),
        shown('003-22', 'A failure makes it `failed`.', failed),
        shown(
          '003-23',
          'Only `failed` takes no more messages, until the run is retried.',
          failed,
          'http/sessions > fails, refuses messages, and is taken up again',
        ),
        shown(
          '003-24',
          'It takes messages however long it becomes: nothing leaves the context that was not summarised.',
          'http/sessions.compaction > gives every message to the summariser before it leaves, and every fact stays known',
          `http/sessions.long > a turn costs the same at turn \${TURNS} as at turn 50, and no message is lost`,
        ),
      ],
    },
    {
      title: 'Message',
      requirements: [
        shown('003-25', 'A message has an `id`, a UUID v7.', message),
        shown('003-26', 'It belongs to a session.', message),
        shown(
          '003-27',
          'It has a sequence within its session, without gaps.',
          message,
          'http/sessions.race > are all answered, each once, in the order of their numbers',
        ),
        shown(
          '003-28',
          'Its role is `user`, `assistant`, `tool_call`, `tool_result` or `system`.',
          message,
          'documents/networks > 003: a message of the role system has a text',
        ),
        shown(
          '003-29',
          'Its content follows from the role.',
          message,
          'http/reference > the content of a message is described by its role',
        ),
        shown('003-30', 'A result names its call in `toolCallId`.', message),
        shown(
          '003-31',
          'It has a creation time that never changes.',
          message,
          'http/sessions > tells when a message was stored as it will always be told',
        ),
        shown(
          '003-32',
          'A user, assistant or system message has a `text`.',
          message,
          'documents/networks > 003: a message of the role system has a text',
        ),
        shown('003-33', 'A call has `id`, `name` and `arguments`.', message),
        shown('003-34', 'A result has `result` and `error`.', message),
      ],
    },
    {
      title: 'Event',
      requirements: [
        shown('003-35', 'An event has an `id`, a UUID v7.', eventId),
        shown('003-36', 'It belongs to a session.', event),
        shown(
          '003-37',
          'It has a sequence within its session, without gaps.',
          event,
          'stream/seam.race > readers that come while events are written have no gap and nothing twice',
        ),
        shown('003-38', 'It has a type.', event),
        shown('003-39', 'It has data that depend on the type.', event),
        shown('003-40', 'It has a creation time.', event),
        shown(
          '003-41',
          'Events are served as server-sent events, in real time.',
          'stream/resume > a stream begins at the beginning and tells what the list tells',
          'stream/processes.crash > served here, worked on there: events and pieces arrive as they are written',
        ),
        shown('003-42', 'Events are no store of the conversation: messages are.', announce),
      ],
    },
    {
      title: 'Event types',
      requirements: [
        shown('003-43', '`step.started`: a model call began.', sum, event),
        shown('003-44', '`step.generating`: a generation is in progress.', generating),
        shown('003-45', '`step.generated`: a generation is complete.', sum, event),
        shown('003-46', '`step.error`: a step failed.', failed),
        shown('003-47', '`message.created`: a message of any role was stored.', created),
        shown(
          '003-48',
          '`message.delta`: a piece of text, live.',
          'stream/live > what a model writes is read as it writes, and never after it is stored',
          'stream/live > a late joiner has all of it at once',
        ),
        shown('003-49', '`tool.started`: a tool began.', event),
        shown('003-50', '`tool.completed`: a tool ended.', event),
        shown('003-51', '`session.started`: the session works on a message.', sum),
        shown('003-52', '`session.completed`: it has answered.', sum),
        shown('003-53', '`session.failed`: it has failed.', failed),
      ],
    },
    {
      title: 'Flow',
      requirements: [
        shown(
          '003-54',
          'Posting a message to `/v1/agents/{id}/sessions/{id}/messages` stores a user message.',
          sum,
        ),
        shown(
          '003-55',
          'It starts the run that answers it, in the same transaction.',
          sum,
          'crash/boundaries.crash > and nothing is done twice or left undone',
        ),
        shown('003-56', 'The session becomes `running`, and `session.started` is written.', sum),
        shown('003-57', 'The model call is announced by `step.started`.', sum),
        shown('003-58', 'The answer is stored as an assistant message.', sum),
        shown(
          '003-59',
          'Its end is announced by `step.generated`, which the document also calls `step.finished`.',
          sum,
        ),
        shown('003-60', '`message.created` names the message by its id.', announce, created),
        shown('003-61', 'The session becomes `pending`, and `session.completed` is written.', sum),
        shown('003-62', 'Another message continues the conversation.', sum),
      ],
    },
    {
      title: 'Capability',
      requirements: [
        shown('003-63', 'A capability has an `id` from a fixed list.', capabilities),
        shown('003-64', 'It has a name.', capabilities),
        shown('003-65', 'It has a description.', capabilities),
        shown('003-66', 'Its status is `available`, `coming_soon` or `deprecated`.', capabilities),
        shown('003-67', 'It has an optional icon.', capabilities),
        shown('003-68', 'It has an optional category.', capabilities),
        shown(
          '003-69',
          'It adds to the system prompt.',
          'http/agents > capabilities are listed in a stable order and shown with what they bring',
          'http/web > the same capabilities in another order are another prompt, in the preview and for the model',
        ),
        shown(
          '003-70',
          'It provides tools.',
          'http/agents > capabilities are listed in a stable order and shown with what they bring',
        ),
        shown(
          '003-71',
          '`noop` exists and changes nothing.',
          capabilities,
          'http/files > an agent with noop answers, with either model',
        ),
        shown(
          '003-72',
          '`current_time` returns the date and time.',
          capabilities,
          'tools/current-time > the time is told in UTC, or in the zone that is asked for',
        ),
        shown(
          '003-73',
          '`research` exists: search, pages and notes.',
          capabilities,
          'http/web > brings the search and the pages along, with what the agent set for them',
          'http/web > notes stay with the session, and nobody else has them',
        ),
        shown(
          '003-74',
          '`sandbox` exists: code in a sandbox.',
          capabilities,
          'http/files > calculates, prints, and works on the files of its session',
        ),
        shown(
          '003-75',
          '`file_system` exists: files of the session.',
          capabilities,
          'http/files > are written, read, listed, searched, looked at and deleted by an agent',
        ),
      ],
    },
    {
      title: 'Capabilities of an agent',
      requirements: [
        shown('003-76', 'The link has an `id`, a UUID v7.', junction),
        shown('003-77', 'It has the agent.', junction),
        shown('003-78', 'It has the capability.', junction),
        shown('003-79', 'It has a position; lower comes first.', junction, once),
        shown('003-80', 'It has a creation time.', junction),
        shown('003-81', 'An agent has a capability at most once.', once),
        shown(
          '003-82',
          'Capabilities are applied in the order of their positions.',
          once,
          'http/web > the same capabilities in another order are another prompt, in the preview and for the model',
          'http/agents > the order of capabilities can be turned around',
        ),
      ],
    },
    {
      title: 'Decisions',
      requirements: [
        shown('003-83', 'Tool calls are stored as messages of the role `tool_call`.', message),
        shown('003-84', 'Tool results are stored as messages of the role `tool_result`.', message),
        shown(
          '003-85',
          'The status of a session is a field of its own.',
          session,
          'http/sessions.follow > at every commit, whatever is done to it and in whatever order',
        ),
        shown(
          '003-86',
          'Capabilities are defined in the program and resolved when an agent is compiled.',
          'http/agents > capabilities are listed in a stable order and shown with what they bring',
          'agents/current > prompts stand in order before the agent’s own, tools in order, limits over the platform’s',
        ),
      ],
    },
  ],
};
