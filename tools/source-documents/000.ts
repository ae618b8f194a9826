import { type SourceDocument, shown } from './document.ts';

const spaces = 'documents/spaces';
const agents = 'documents/agents';
const replies = 'spaces/replies';
const wait = `${spaces} > 000: the wait of a run is in its metadata while it waits, with the fields of the document`;
const config = `${agents} > 000: the tools inside the config JSON of an agent become tools of this agent`;
const toolJson = "http/tools > the source's tool JSON loads as it stands";
const shownCalls = 'spaces/visible > hidden, result-only, and what of a call is not shown';

export const dataModel: SourceDocument = {
  number: '000',
  title: 'data model of spaces',
  sections: [
    {
      title: 'Spaces without an admin agent',
      requirements: [
        shown(
          '000-01',
          'A space has no admin agent, neither as a field nor as a column.',
          `${spaces} > 000: a space has no admin agent`,
        ),
        shown(
          '000-02',
          'An entity has no relation to spaces that it administers.',
          `${spaces} > 000: a space has no admin agent`,
        ),
        shown(
          '000-03',
          'All agents of a space are equal: each other agent is started by a message.',
          'spaces/scenarios > Human sends message in space with 3 agents',
        ),
        shown(
          '000-04',
          'A space can start agents by mention: the policy `mentions`.',
          'spaces/guard > where mentions start agents, those who are named are started, and in a space of two the other',
          'spaces/guard > mentions the longest written name if one name begins with another',
        ),
      ],
    },
    {
      title: 'Run status',
      requirements: [
        shown(
          '000-05',
          'The statuses are `queued`, `running`, `waiting_tool`, `waiting_reply`, `completed`, `failed` and `canceled`.',
          `${spaces} > 000: a run has one of the statuses of the document`,
        ),
        shown(
          '000-06',
          'A run that waits for replies in a space is `waiting_reply`.',
          wait,
          'kernel/waiting-reply > a run whose calls all wait for replies waits for replies, tells so, and goes on with them',
        ),
        shown(
          '000-07',
          'A run that waits for the result of a tool is `waiting_tool`, also beside replies.',
          'kernel/waiting-reply > waits for a tool while one is open too, and for replies once only they are left',
          'spaces/live > a visible tool is seen from its first argument to its answer, where its agent is; one of the space answers it',
        ),
        shown(
          '000-08',
          'Waiting for a reply starts with `send_message` and its option `wait`.',
          `${replies} > 000: times of waitState are ISO with Z; the first reply by anyone resumes the run, and starts no other`,
        ),
        shown(
          '000-09',
          'Only agents that opted in can wait.',
          `${replies} > an agent that may not wait is told so`,
        ),
      ],
    },
    {
      title: 'Active space of a run',
      requirements: [
        shown(
          '000-10',
          'A run has a nullable `activeSpaceId`.',
          `${spaces} > 000: a run shows the space that it is in, which is its trigger’s first and changes by enter_space`,
          'spaces/scenarios > Plan triggers agent',
        ),
        shown(
          '000-11',
          '`enter_space` sets it.',
          `${spaces} > 000: a run shows the space that it is in, which is its trigger’s first and changes by enter_space`,
        ),
        shown(
          '000-12',
          '`send_message` speaks in the active space.',
          'spaces/scenarios > Agent enters Space A, sends message, enters Space B, sends message',
        ),
        shown(
          '000-13',
          'Results of visible tools go to the active space.',
          'spaces/visible > Agent calls visible tool after `enter_space`',
        ),
        shown(
          '000-14',
          'It is no foreign key.',
          `${spaces} > 000: the active space of a run is no foreign key`,
        ),
        shown(
          '000-15',
          'Membership is checked when a space is entered.',
          `${spaces} > 001: enter_space gives the name and the last messages of the space, and refuses others`,
          'spaces/seen > a run can turn only to spaces that its agent is in, and says nothing elsewhere',
        ),
      ],
    },
    {
      title: 'Wait state',
      requirements: [
        shown('000-16', 'The wait is in `metadata.waitState` of the run.', wait),
        shown('000-17', 'It has the `spaceId`.', wait),
        shown('000-18', 'It has the `messageId` of the question.', wait),
        shown('000-19', 'It has the `toolCallId` of the call that waits.', wait),
        shown(
          '000-20',
          '`waitingFor` lists `entityId`, `entityName`, `entityType` and `responded`.',
          wait,
          `${replies} > where several are named, all of them have to reply`,
        ),
        shown(
          '000-21',
          '`startedAt` is a time in ISO format with `Z`.',
          `${replies} > 000: times of waitState are ISO with Z; the first reply by anyone resumes the run, and starts no other`,
        ),
        shown(
          '000-22',
          '`timeout` is 300,000 ms unless another is given.',
          wait,
          `${replies} > when the time is over the run goes on with what came`,
        ),
        shown('000-23', '`replies` is empty at first.', wait),
        shown(
          '000-24',
          'A reply marks its entity as responded.',
          `${replies} > where several are named, all of them have to reply`,
        ),
        shown(
          '000-25',
          'A reply adds `entityId`, `entityName`, `text`, `messageId` and `timestamp`.',
          wait,
          `${replies} > where several are named, all of them have to reply`,
        ),
        shown(
          '000-26',
          'The replies become the result of the call when the run resumes.',
          wait,
          `${replies} > 000: times of waitState are ISO with Z; the first reply by anyone resumes the run, and starts no other`,
        ),
        shown('000-27', 'The wait state is gone once the run has resumed.', wait),
        shown(
          '000-28',
          'The timeout resumes the run with the replies that came.',
          `${replies} > when the time is over the run goes on with what came`,
        ),
      ],
    },
    {
      title: 'Models that stay',
      requirements: [
        shown(
          '000-29',
          'An entity is a `human` or an `agent`.',
          'http/spaces.people > a person is registered, found, changed and, while they own nothing, deleted',
          'http/spaces.people > the entity of an agent has the name of the agent and cannot be deleted',
        ),
        shown(
          '000-30',
          'Memberships link entities and spaces.',
          'http/spaces.people > a space is made with its members, and tells of them',
        ),
        shown(
          '000-31',
          'Messages of a space have a role, content, metadata and a sequence without gaps.',
          'spaces/defects > that the number of a message is the highest one plus one, for whoever is lucky, is not so here',
          'triggers/captures > a space, who is in it, and what is said',
        ),
        shown(
          '000-32',
          'An agent has exactly one entity.',
          'http/agents > an agent is made with its entity, its first version, its snapshot and a note in the audit log',
        ),
        shown(
          '000-33',
          'Events of runs are stored and numbered.',
          'spaces/defects > that events of a run are never written, or have no number, is not so here',
        ),
        shown(
          '000-34',
          'Tool calls and their results are kept, also of tools that clients execute.',
          'http/inbox > the results of a client are taken all or none, and the same again changes nothing',
        ),
        shown(
          '000-35',
          'Clients of people are registered.',
          'http/spaces.people > programs of people: registered again under the same key, seen, forgotten, and nobody else’s',
        ),
        shown(
          '000-36',
          'Memories stay between runs.',
          'http/memories > memories are set, found, changed and forgotten by their keys',
          'spaces/scenarios > Agent uses `set_memories` to store state, next run reads it',
        ),
        shown(
          '000-37',
          'Plans stay and start runs.',
          'http/plans > a plan due in a second runs a second later, once, and tells the run what it was for',
        ),
        shown(
          '000-38',
          'Goals stay between runs.',
          'http/memories > goals are given, changed, listed by status and deleted',
        ),
        shown(
          '000-39',
          'A message that a run said names the run.',
          'http/sessions > answers how much 2+2 is: messages, statuses and events in their order',
          'spaces/seen > what an agent said carries why, and its next run reads that',
        ),
      ],
    },
    {
      title: 'Last processed message',
      requirements: [
        shown(
          '000-40',
          'A membership has a nullable `lastProcessedMessageId`.',
          `${spaces} > 000: a membership keeps the last message that its agent has processed`,
        ),
        shown(
          '000-41',
          'It marks messages as `[SEEN]` or `[NEW]` in the prompt.',
          'spaces/scenarios > Agent sends message, human replies',
        ),
        shown(
          '000-42',
          'It is updated when a run completes, to the last message that the run was shown.',
          `${spaces} > 000: a membership keeps the last message that its agent has processed`,
          'spaces/seen > what comes while a run works is new to the next one',
          'spaces/seen > a run that failed or was canceled has seen nothing',
        ),
      ],
    },
    {
      title: 'Config of an agent',
      requirements: [
        shown(
          '000-43',
          'The config of an agent holds tools.',
          config,
          `${agents} > 000: the name of an inline tool is unique within its agent and overrides a tool of the project`,
          `${agents} > 000: an inline tool changes with the versions of its agent`,
        ),
        shown(
          '000-44',
          '`displayTool` is refused and its replacement named.',
          'http/tools > what cannot work is refused when it is written',
          `${agents} > 000: an inline tool that cannot be used is refused with the field that is wrong`,
        ),
        shown('000-45', '`visibility` is `visible`, `hidden` or `result-only`.', toolJson, shownCalls),
        shown('000-46', 'A tool has `name`, `description` and `inputSchema`.', config),
        shown('000-47', '`executionType: gateway` is a request that the server sends.', config, toolJson),
        shown('000-48', '`execution` has `url`, `method` and `timeout`.', config),
        shown(
          '000-49',
          '`{{input.…}}` in the address is filled in from the arguments.',
          'tools/http > values in the address are encoded, and dots cannot leave their place',
        ),
        shown(
          '000-50',
          '`display.mode` is refused and its replacement named.',
          'http/tools > what cannot work is refused when it is written',
        ),
        shown('000-51', '`display.customUI` names the component of the client.', toolJson, shownCalls),
        shown('000-52', '`display.showInput` hides the input in a space.', shownCalls),
        shown('000-53', '`display.showOutput` hides the output in a space.', shownCalls),
      ],
    },
    {
      title: 'Migration',
      requirements: [
        shown(
          '000-54',
          'The database is migrated without manual steps, also by several processes at once.',
          'store/migrate > race: retries a migration that Postgres aborts to break a deadlock with a worker',
          'store/migrate > rolls back a failed migration',
          'jobs/migrate.race > ten that make the tables of jobs at once all succeed, and all is made once',
        ),
      ],
    },
  ],
};
