import { type SourceDocument, shown } from './document.ts';

const doc = 'documents/networks';
const fields = `${doc} > 002: a network, its agents, tools and versions have the fields of the document`;
const unique = `${doc} > 002: names and keys are unique case-insensitively, and an agent has no route to itself`;
const pairs = `${doc} > 002: an agent has a tool and a route once`;
const versionIds = `${doc} > 002: a version has an id and a creation time, and a network refers to its current version by id and number`;
const snapshotOnce = `${doc} > 002: every version has a snapshot of its own, also if an earlier one has the same content`;
const constraints = `${doc} > 002: the database refuses a current version that the network does not have, and a shared snapshot`;
const compiled = `${doc} > 002: the compiled snapshot has the agents, tools, adjacency, policy and maps of the document`;
const loads = `${doc} > 002: the JSON of the document for tools and networks loads unchanged`;
const defaultValue = `${doc} > 002: a default value is called defaultValue, and the former name is accepted`;
const systemSchema = `${doc} > 002: a system parameter that does not fit its schema is the fault of the operator and fails the run`;
const run = 'networks/run';
const versions = 'http/network-versions';
const judge = 'networks/judge';

export const networks: SourceDocument = {
  number: '002',
  title: 'networks, versions and snapshots',
  sections: [
    {
      title: 'Network',
      requirements: [
        shown('002-01', 'A network has an `id`.', fields),
        shown('002-02', 'Its `name` is unique.', unique),
        shown('002-03', 'It has a `description`.', fields),
        shown('002-04', 'Its status is `draft`, `published` or `archived`.', fields),
        shown('002-05', 'It refers to its current version by a foreign key.', versionIds, constraints),
      ],
    },
    {
      title: 'Agent of a network',
      requirements: [
        shown('002-06', 'An agent belongs to one network.', fields),
        shown('002-07', 'It has a `key`, unique in its network without regard to case.', unique),
        shown('002-08', 'It has a display name.', fields),
        shown('002-09', 'It has a description.', fields),
        shown(
          '002-10',
          '`allowRespond` says whether it may answer.',
          fields,
          `${doc} > 002: the compiled snapshot has the agents, tools, adjacency, policy and maps of the document`,
        ),
        shown('002-11', 'It has metadata.', fields),
      ],
    },
    {
      title: 'Tool',
      requirements: [
        shown('002-12', 'A tool has an `id`.', fields),
        shown('002-13', 'Its key is unique in the project without regard to case.', unique),
        shown('002-14', 'It has a display name.', fields, loads),
        shown('002-15', 'It has a description.', fields, loads),
        shown('002-16', 'Its provider type says what executes it.', loads),
        shown('002-17', 'Its parameters are a JSON Schema or a list.', loads),
        shown(
          '002-18',
          '`secretRef` names a secret that the tool needs.',
          `${doc} > 002: an http tool sends the secret that secretRef names, and never exposes it`,
          `${doc} > 002: a network whose tool names a secret that is not set cannot be published`,
        ),
        shown('002-19', 'It has metadata.', fields, loads),
      ],
    },
    {
      title: 'Tools and routes of an agent',
      requirements: [
        shown(
          '002-20',
          'Agents are linked with tools.',
          'http/networks > agents are added, changed, equipped and removed; what is in the way is told',
        ),
        shown('002-21', 'An agent has a tool at most once.', pairs),
        shown(
          '002-22',
          'Agents are linked with agents that they may hand over to.',
          'http/networks > agents are added, changed, equipped and removed; what is in the way is told',
        ),
        shown('002-23', 'A route from one agent to another exists at most once.', pairs),
        shown('002-24', 'No route leads from an agent to itself.', unique, pairs),
      ],
    },
    {
      title: 'Version',
      requirements: [
        shown('002-25', 'A version has an `id`.', versionIds, fields),
        shown('002-26', 'It belongs to a network.', fields),
        shown(
          '002-27',
          'It has a number.',
          fields,
          `${versions} > publishing makes a version, and the same content none`,
        ),
        shown(
          '002-28',
          'The number is unique within the network and has no gaps.',
          `${versions} > race: publishes at the same time give versions without gaps, and the same content one`,
        ),
        shown('002-29', 'It says who created it.', fields),
        shown('002-30', 'It says when it was created.', versionIds, fields),
        shown(
          '002-31',
          'It says who published it.',
          fields,
          `${versions} > publishing makes a version, and the same content none`,
        ),
        shown('002-32', 'It says when it was published.', fields),
        shown('002-33', 'It has notes.', fields),
      ],
    },
    {
      title: 'Compiled snapshot',
      requirements: [
        shown('002-34', 'Every version has one snapshot of its own.', snapshotOnce, constraints),
        shown('002-35', 'It has an `id`.', fields, snapshotOnce),
        shown(
          '002-36',
          'It has a checksum of its content.',
          fields,
          `${versions} > publishing makes a version, and the same content none`,
        ),
        shown('002-37', 'It holds the compiled graph as JSON.', compiled),
        shown(
          '002-38',
          'Equal content gives an equal checksum.',
          'agents/network-compile > gives the same text for the same content, in whatever order it was written',
          snapshotOnce,
        ),
        shown(
          '002-39',
          'It does not change after it was published.',
          `${run} > what was made, published and made otherwise since runs as it was published`,
          'networks/edits > every edit there is, while a run is in the middle and after another has ended',
        ),
      ],
    },
    {
      title: 'Graph of the snapshot',
      requirements: [
        shown('002-40', 'Agents have `key`.', compiled),
        shown('002-41', 'Agents have `allowRespond`.', compiled),
        shown('002-42', 'Agents have `equippedTools`.', compiled),
        shown('002-43', 'Agents have `allowedRoutes`.', compiled),
        shown('002-44', 'Agents have `metadata`.', compiled),
        shown('002-45', 'Tools have `key` and `description`.', compiled),
        shown('002-46', 'Tools have `params` with `name`.', compiled),
        shown('002-47', 'The source of a parameter is `agent`, `system` or `default`.', compiled),
        shown('002-48', 'A parameter says whether it is required.', compiled),
        shown('002-49', 'A parameter has a `defaultValue`.', compiled, defaultValue),
        shown('002-50', 'A parameter has a `schema`.', compiled),
        shown('002-51', '`adjacency` lists the routes as pairs.', compiled),
        shown(
          '002-52',
          '`policy` has limits, retries, backoff and the maximum of steps.',
          compiled,
          'networks/policy > maxSteps: routes without end come to one, and nothing more is asked',
          'networks/policy > modelTries and retryBackoffMs: how often a model is asked, and how long it is left alone',
        ),
        shown('002-53', '`validation` has computed maps of allowed tools and routes.', compiled),
        shown(
          '002-54',
          'A document in this form loads as it stands.',
          loads,
          `${doc} > 002: an edge from an unknown agent is refused`,
        ),
      ],
    },
    {
      title: 'Invocation',
      requirements: [
        shown(
          '002-55',
          '`invoke` runs the current version.',
          `${run} > what was made, published and made otherwise since runs as it was published`,
        ),
        shown(
          '002-56',
          '`invoke` runs the version that is asked for.',
          `${run} > a version that was asked for, where it begins, and what is refused`,
        ),
        shown(
          '002-57',
          'An agent without `allowRespond` cannot respond; the run goes on.',
          'networks/defects > 2. that a forbidden answer ends the run is not so here',
          `${judge} > sends back what does not, and who may not`,
        ),
        shown(
          '002-58',
          'An agent with `allowRespond` can respond.',
          `${run} > hands over, sees its own steps whole and earlier ones in a line, and responds`,
        ),
        shown(
          '002-59',
          'Only equipped tools can be used.',
          `${run} > %s: the same agent is told once, and nothing happens`,
          `${judge} > sends back: %s`,
        ),
        shown(
          '002-60',
          'Parameters of the agent are checked against their schema.',
          `${judge} > lets through what fits, and tells what the agent gave and nothing else`,
          `${judge} > sends back: %s`,
        ),
        shown(
          '002-61',
          'System parameters are added when the tool is executed.',
          `${run} > what the system gives and secrets reach the tools, and nobody else`,
        ),
        shown(
          '002-62',
          'System parameters are checked against their schema.',
          systemSchema,
          `${doc} > 002: the check of an instruction gives the verdict error for a system parameter that does not fit`,
          `${doc} > 002: a system parameter of an agent that was given a task is checked as well`,
        ),
        shown(
          '002-63',
          'A missing system parameter is the fault of the operator.',
          `${run} > what the operator left out is no fault of the model: the run fails at once`,
        ),
        shown(
          '002-64',
          'Defaults are applied.',
          `${doc} > 002: a network overrides description and parameters of a tool, and a default is what it says`,
          `${judge} > treats null for a parameter with a default as absent`,
        ),
        shown(
          '002-65',
          'A run is handed over along allowed routes only.',
          'networks/defects > 1. that a forbidden route is told as refused and taken all the same is not so here',
          `${judge} > takes those that there are, as they are spelled`,
        ),
        shown(
          '002-66',
          'Events report the progress to a user interface.',
          'networks/stream > the whole run from its first event on, what is written included, and what came of it as the last frame',
        ),
        shown(
          '002-67',
          'Spans are sent by OpenTelemetry.',
          'telemetry/spans > a run of a network is a tree: steps, model calls and tools, with what was refused',
        ),
      ],
    },
    {
      title: 'Storage',
      requirements: [
        shown(
          '002-68',
          'Edits are transactions: all or nothing.',
          'http/networks > all that is wrong with a document is told at once, and nothing is made',
        ),
        shown('002-69', 'Constraints are in the database.', constraints, pairs),
        shown(
          '002-70',
          'A step reads the snapshot and searches nothing, regardless of the size of the network.',
          'networks/large > a step in a network of 1,000 agents takes less than a millisecond more than in one of 3',
        ),
        shown(
          '002-71',
          'A version can be carried to another project as a file.',
          `${versions} > a file becomes a draft, in another project too, and is refused where anything in it was changed`,
        ),
        shown(
          '002-72',
          'The same program runs locally with its own Postgres and elsewhere with any.',
          'process/dev > the first start makes a database, says where everything is, and a later one takes less than 2 s',
          'store/postgres-15 > plays a run with a tool',
        ),
        shown(
          '002-73',
          'Schema changes are migrations.',
          'store/migrate > rolls back a failed migration',
          'store/network-version-ids > gives versions of networks ids and snapshots of their own when it upgrades',
        ),
      ],
    },
    {
      title: 'Open questions, as decided',
      requirements: [
        shown(
          '002-74',
          'Networks belong to a project; an environment is a project.',
          `${versions} > another project finds nothing`,
        ),
        shown(
          '002-75',
          'Tools belong to the project, and a network can override their descriptions and parameters.',
          `${doc} > 002: a network overrides description and parameters of a tool, and a default is what it says`,
          'http/networks > a tool says who gives its parameters; its schema follows from those that the agent gives',
        ),
        shown(
          '002-76',
          'Cycles are allowed and bounded by the maximum of steps.',
          `${run} > to hand over for ever: the steps come to an end`,
        ),
        shown(
          '002-77',
          'Runs and steps are stored in the database.',
          'networks/kill.crash > killed at any step, a run goes on at its agent of its version, whatever was published since',
        ),
        shown(
          '002-78',
          'A network can have 1,000 agents, 2,000 tools and 10,000 routes.',
          `${versions} > a network of 1,000 agents, 2,000 tools and 10,000 routes is published in less than 2 s`,
          'http/networks > a network of 1,000 agents, 2,000 tools and 10,000 routes is applied over HTTP',
        ),
      ],
    },
  ],
};
