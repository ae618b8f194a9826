import { closest } from './closest.ts';
import type { OptionName } from './parse.ts';
import { UsageError } from './terminal.ts';

export const USAGE = `Usage: troupe <command>

  dev                       HTTP and a worker in one process; brings a PostgreSQL where DATABASE_URL is not set
  serve | work | migrate    the parts by themselves; DATABASE_URL says where
       --tools <module,…>   dev, serve, work: functions of yours for agents to use; default TROUPE_TOOLS
  import <file> [--name <name>]   makes a project of an export, in the database of DATABASE_URL
  secrets reencrypt         after a change of TROUPE_ENCRYPTION_KEY: puts every secret under the new one

  chat <agent> [message]    talk to an agent; without a message, line by line
       --session <id>       go on with a session
       --model <model>      with this model

  agents list [--status active | archived]
         get <agent>        create <name> [--prompt <text>] [--model <model>] [--capabilities <a,b>]
                [--tools <a,b>] [--approvals <a,b>]   the last: tools of which a person approves every call
         update <agent> [--name <name>] [--prompt <text>] [--model <model>] [--description <text>]
                [--capabilities <a,b>] [--tools <a,b>] [--approvals <a,b>] [--notes <why>]   "none" clears
         import <file>      export <agent> [--format markdown | yaml | json]
         versions <agent>   diff <agent> <from> <to>     rollback <agent> <version>
         preview <agent>    archive <agent> [--notes <why>]
         unarchive <agent> [--notes <why>]
         memories <agent> [--user <name>]  what it remembers: for all, or of one person
         goals <agent> [--user <name>] [--status active | completed | abandoned]
         trigger <agent> <service> [json]  starts a run, as a service that has something to tell
  plans  list <agent> [--status pending | completed | canceled]
         create <agent> <name> [--instruction <text>]
                --run-after <"2 hours"> | --scheduled-at <time> | --cron <"0 9 * * *"> [--time-zone <zone>]
         get | cancel | delete <agent> <plan>
  capabilities              what an agent can carry
  sessions list <agent> [--status <status>]          show <agent> <session>
           messages <agent> <session>                events <agent> <session> [--follow]
           cancel | retry | delete <agent> <session>
           fork <agent> <session> <message> [--title <text>]   a new session that begins with all up to there
  spaces list               create <name> [--agent <agent>]… [--user <name>]… [--description <text>]
                [--policy all | mentions | humans] [--ordering parallel | serial]
         get <space>        update <space> [--name <name>] [--policy <policy>] [--description <text>]
         delete <space>     members <space>
         add <space> [--agent <agent>]… [--user <name>]… [--role admin | member] [--ordering <ordering>]
         remove <space> <member>
         post <space> <message> [--as <user>]   says something; without --as, as the only person there
         messages <space> [--search <text>]
         watch <space> [--as <user>]       the conversation as it happens; with --as, what is typed is said
  entities list [--type human | agent]      create <user> [--name <name>]
           get <entity>     delete <entity>, who has said nothing
           erase <entity>, with everything that belongs to them      erasure <entity id>   the receipt
  runs   list [--status <status>] [--agent <agent>] [--session <id>]
         show <run>         cancel <run>                 retry <run>
         messages <run> [--of run]         of its thread, or only what it was asked and said
         events <run> [--follow]           what happened, and what happens until it ends
         fork <run> <step>                 go on from a step, apart
         continue <run> [--title <text>]   a session that begins where the run ended
  tasks  list [--chat <session or space>] [--status <status>]   work that runs gave to sub-agents and tools
         show <task>        with what was said within it
         cancel <task> | --chat <session or space>       with everything given within it; all of a chat
         create <agent> <instruction> --chat <session or space>   create a task from outside
         answer <task> <answer>            answers the question of its sub-agent
         watch <session or space>          a line for each that begins, asks or ends
  inbox [--for approval | person | answer | client]   calls that wait: for a person, or for a client that executes them
        show <call>         approve <call> [--arguments <json>]     reject <call> [--reason <text>]
        retry <call>        complete <call> --output <json>         fail <call> --reason <text>
                            the last three: a call whose outcome is in doubt; <call> is its number, or <run> <call>
        answer <call> --output <json> | --reason <text>   in place of the client: what came of it, or why it failed
        answer <call> --text <answer>     a question of a sub-agent
  networks list [--status draft | published | archived]
           get <network>    graph <network>              delete <network>
           definition <network>            all of it as JSON with names, as apply takes it
           apply <file> [--yes]            YAML or JSON: shows what differs, asks, and makes it what the file says
           validate <network>              publish <network> [--notes <why>]
           versions <network>              diff <network> <from> <to>        rollback <network> <version>
           archive | unarchive <network>   copy <network> <name>           a new draft with the same in it
           export <network> [version]      a version as a file             import <file> [--name <name>]
           invoke <network> <input> | --file <file> [--agent <key>] [--stream | --background]
                [--system <name>=<value>]…   what no agent gives; <name>=@<file> and <name>=env:<variable> show no value
                [--system-file <json>] [--network-version <number>]
           check <network> <agent> <instruction> [--delegated]   what one decision would be told; JSON
           prompt <network> [input] [--agent <key>] [--delegated]   what an agent would be told; the option: in a task
           runs <network>                  newest first
  batches create <network> <file> [--format csv | jsonl] [--iterations <number>] [--concurrency <number>]
                [--name <name>] [--agent <key>] [--network-version <number>] [--system …]… [--system-file <json>]
          list <network>    get <batch>                  watch <batch>, until it has ended
          items <batch> [--status <status>]              results <batch> [--format csv | jsonl]
          cancel <batch>    resume <batch> [--failed]    delete <batch>
  providers list            remove <provider>
            add openai | anthropic | openai_compatible | demo [--name <name>] [--base-url <url>]
                [--api-key-env <variable> | --api-key-stdin]
  models list [--provider <provider>]    remove <model>
         add <provider> <modelId> [--default] [--name <name>] [--input-price <per million>] [--output-price <…>]
                [--context-tokens <number>] [--max-output-tokens <number>] [--image-input yes | no]
  keys   list               create <name> [--kind secret | public] [--scopes <a,b>] [--expires <time>]
         revoke <key>
  secrets list              set <name>, its value from stdin        delete <name>
  budgets list              with what is spent of each
          set project | agent | space | session [which] --tokens <number> | --cost <number>
                [--on-exhausted stop | fallback | wait]   which: a name or an id; none of the project
          delete project | agent | space | session [which] --unit tokens | cost
  export <file>             writes the project to a file, as troupe import takes it
  retention get              how long data is kept        preview    what a purge would delete now
            set <kind>=<days>… [--agent <agent>]   replaces the rules; "set none" removes them; kinds: sessions, runs,
                results (steps of runs; answers stay), events, files, deliveries, audit
  tools  list               get <tool>                   create <file>
         apply <file or folder>            makes tools, or makes them what the files say; JSON or YAML
         register <module>                 the same for functions of yours; workers need --tools <module>
         try <tool> [json]                 executes it alone; it takes effect
         test <tool> [json]                whether calls would reach what executes them; with JSON, it is called
         delete <tool>
  mcp    list               get <server>                 delete <server>        MCP servers
         add <name> <address> [--header "<name>: <value>"]… [--allow <a,b>]     values: {{secrets.NAME}}
         add <name> [--env <NAME>=<value>]… [--allow <a,b>] -- <program> [arguments]
         test <server>                     connects, and shows what it offers
         import <server> [--tools <a,b>]   makes tools of it, or makes them what the server says now
  triggers list             get <trigger>                enable | disable | delete <trigger>
           apply <file> [--prune]          JSON or YAML: makes them what the file says; --prune deletes all others
           test <trigger or file>          what it would match among the newest documents; nothing is delivered
           deliveries [trigger] [--status pending | sending | delivered | dead] [--document <id or path>]
           delivery <delivery>             with every attempt
           redeliver <delivery or trigger> of a trigger, all that were given up; [--status dead | delivered]

  --limit       how many of a list, at most 200; default 50
  --json        what is shown, as JSON; errors too, on stderr
  --url, --key  where the server is and the key for it; default TROUPE_URL (http://localhost:4700) and TROUPE_KEY
  --help, --version

Agents, spaces, people, plans, tools, servers, models, providers and keys are named by id or name. Options may stand
anywhere; what follows -- is no option.`;

interface Shape {
  words: string;
  options: OptionName[];
}

const EVERYWHERE: OptionName[] = ['json', 'help', 'version'];
const ASKING: OptionName[] = ['url', 'key'];
const GIVEN: OptionName[] = ['system', 'system-file', 'network-version'];
const CARRIED: OptionName[] = ['capabilities', 'tools', 'approvals'];

/** What each command takes: to tell what is missing, and that nothing given is passed over in silence. */
const SHAPES: Record<string, Shape> = {
  dev: { words: '', options: ['tools'] },
  serve: { words: '', options: ['tools'] },
  work: { words: '', options: ['tools'] },
  migrate: { words: '', options: [] },
  import: { words: '<file>', options: ['name'] },
  export: { words: '<file>', options: ASKING },
  'secrets reencrypt': { words: '', options: [] },
  chat: { words: '<agent> [message]', options: ['session', 'model', ...ASKING] },
  'agents list': { words: '', options: ['status', 'limit', ...ASKING] },
  'agents get': { words: '<agent>', options: ASKING },
  'agents create': { words: '<name>', options: ['prompt', 'model', ...CARRIED, ...ASKING] },
  'agents update': {
    words: '<agent>',
    options: ['name', 'prompt', 'model', 'description', 'notes', ...CARRIED, ...ASKING],
  },
  'capabilities list': { words: '', options: ASKING },
  'agents import': { words: '<file>', options: ASKING },
  'agents export': { words: '<agent>', options: ['format', ...ASKING] },
  'agents versions': { words: '<agent>', options: ['limit', ...ASKING] },
  'agents diff': { words: '<agent> <from> <to>', options: ASKING },
  'agents rollback': { words: '<agent> <version>', options: ASKING },
  'agents preview': { words: '<agent>', options: ASKING },
  'agents memories': { words: '<agent>', options: ['user', 'limit', ...ASKING] },
  'agents goals': { words: '<agent>', options: ['user', 'status', 'limit', ...ASKING] },
  'agents trigger': { words: '<agent> <service> [json]', options: ASKING },
  'plans list': { words: '<agent>', options: ['status', 'limit', ...ASKING] },
  'plans create': {
    words: '<agent> <name>',
    options: ['instruction', 'run-after', 'scheduled-at', 'cron', 'time-zone', ...ASKING],
  },
  'plans get': { words: '<agent> <plan>', options: ASKING },
  'plans cancel': { words: '<agent> <plan>', options: ASKING },
  'plans delete': { words: '<agent> <plan>', options: ASKING },
  'agents archive': { words: '<agent>', options: ['notes', ...ASKING] },
  'agents unarchive': { words: '<agent>', options: ['notes', ...ASKING] },
  'sessions list': { words: '<agent>', options: ['status', 'limit', ...ASKING] },
  'sessions show': { words: '<agent> <session>', options: ASKING },
  'sessions messages': { words: '<agent> <session>', options: ASKING },
  'sessions events': { words: '<agent> <session>', options: ['follow', ...ASKING] },
  'sessions cancel': { words: '<agent> <session>', options: ASKING },
  'sessions retry': { words: '<agent> <session>', options: ASKING },
  'sessions fork': { words: '<agent> <session> <message>', options: ['title', ...ASKING] },
  'sessions delete': { words: '<agent> <session>', options: ASKING },
  'spaces list': { words: '', options: ['limit', ...ASKING] },
  'spaces create': {
    words: '<name>',
    options: ['agent', 'user', 'policy', 'ordering', 'description', ...ASKING],
  },
  'spaces get': { words: '<space>', options: ASKING },
  'spaces update': { words: '<space>', options: ['name', 'policy', 'description', ...ASKING] },
  'spaces delete': { words: '<space>', options: ASKING },
  'spaces members': { words: '<space>', options: ASKING },
  'spaces add': { words: '<space>', options: ['agent', 'user', 'role', 'ordering', ...ASKING] },
  'spaces remove': { words: '<space> <member>', options: ASKING },
  'spaces post': { words: '<space> <message> [more]', options: ['as', ...ASKING] },
  'spaces messages': { words: '<space>', options: ['search', ...ASKING] },
  'spaces watch': { words: '<space>', options: ['as', ...ASKING] },
  'entities list': { words: '', options: ['type', 'limit', ...ASKING] },
  'entities create': { words: '<user>', options: ['name', ...ASKING] },
  'entities get': { words: '<entity>', options: ASKING },
  'entities delete': { words: '<entity>', options: ASKING },
  'entities erase': { words: '<entity>', options: ASKING },
  'entities erasure': { words: '<entity>', options: ASKING },
  'runs list': { words: '', options: ['status', 'agent', 'session', 'limit', ...ASKING] },
  'runs show': { words: '<run>', options: ASKING },
  'runs get': { words: '<run>', options: ASKING },
  'runs cancel': { words: '<run>', options: ASKING },
  'runs retry': { words: '<run>', options: ASKING },
  'runs messages': { words: '<run>', options: ['of', ...ASKING] },
  'runs events': { words: '<run>', options: ['follow', ...ASKING] },
  'runs fork': { words: '<run> <step>', options: ASKING },
  'runs continue': { words: '<run>', options: ['title', ...ASKING] },
  'tasks list': { words: '', options: ['chat', 'status', 'limit', ...ASKING] },
  'tasks show': { words: '<task>', options: ASKING },
  'tasks get': { words: '<task>', options: ASKING },
  'tasks cancel': { words: '[task]', options: ['chat', ...ASKING] },
  'tasks create': { words: '<agent> <instruction>', options: ['chat', ...ASKING] },
  'tasks answer': { words: '<task> <answer>', options: ASKING },
  'tasks watch': { words: '<chat>', options: ASKING },
  'inbox list': { words: '', options: ['for', 'limit', ...ASKING] },
  'inbox show': { words: '<call> [call]', options: ASKING },
  'inbox approve': { words: '<call> [call]', options: ['arguments', ...ASKING] },
  'inbox reject': { words: '<call> [call]', options: ['reason', ...ASKING] },
  'inbox retry': { words: '<call> [call]', options: ASKING },
  'inbox complete': { words: '<call> [call]', options: ['output', ...ASKING] },
  'inbox fail': { words: '<call> [call]', options: ['reason', ...ASKING] },
  'inbox answer': { words: '<call> [call]', options: ['output', 'reason', 'text', ...ASKING] },
  'providers list': { words: '', options: ['limit', ...ASKING] },
  'providers add': {
    words: '<kind>',
    options: ['name', 'base-url', 'api-key-env', 'api-key-stdin', ...ASKING],
  },
  'providers remove': { words: '<provider>', options: ASKING },
  'models list': { words: '', options: ['provider', 'limit', ...ASKING] },
  'models add': {
    words: '<provider> <modelId>',
    options: [
      ...(['default', 'name', 'input-price', 'output-price', 'context-tokens'] as const),
      ...(['max-output-tokens', 'image-input', ...ASKING] as const),
    ],
  },
  'models remove': { words: '<model>', options: ASKING },
  'keys list': { words: '', options: ['limit', ...ASKING] },
  'keys create': { words: '<name>', options: ['kind', 'scopes', 'expires', ...ASKING] },
  'keys revoke': { words: '<key>', options: ASKING },
  'secrets list': { words: '', options: ['limit', ...ASKING] },
  'secrets set': { words: '<name>', options: ASKING },
  'secrets delete': { words: '<name>', options: ASKING },
  'budgets list': { words: '', options: ASKING },
  'budgets set': {
    words: '<scope> [which]',
    options: ['tokens', 'cost', 'on-exhausted', ...ASKING],
  },
  'budgets delete': { words: '<scope> [which]', options: ['unit', ...ASKING] },
  'retention get': { words: '', options: ASKING },
  'retention set': { words: '<rule> [more]', options: ['agent', ...ASKING] },
  'retention preview': { words: '', options: ASKING },
  'networks list': { words: '', options: ['status', 'limit', ...ASKING] },
  'networks get': { words: '<network>', options: ASKING },
  'networks graph': { words: '<network>', options: ASKING },
  'networks definition': { words: '<network>', options: ASKING },
  'networks apply': { words: '<file>', options: ['yes', ...ASKING] },
  'networks copy': { words: '<network> <name>', options: ASKING },
  'networks delete': { words: '<network>', options: ASKING },
  'networks validate': { words: '<network>', options: ASKING },
  'networks publish': { words: '<network>', options: ['notes', ...ASKING] },
  'networks versions': { words: '<network>', options: ['limit', ...ASKING] },
  'networks diff': { words: '<network> <from> <to>', options: ASKING },
  'networks rollback': { words: '<network> <version>', options: ASKING },
  'networks archive': { words: '<network>', options: ASKING },
  'networks unarchive': { words: '<network>', options: ASKING },
  'networks export': { words: '<network> [version]', options: ASKING },
  'networks import': { words: '<file>', options: ['name', ...ASKING] },
  'networks invoke': {
    words: '<network> [input]',
    options: ['file', 'agent', 'wait', 'stream', 'background', ...GIVEN, ...ASKING],
  },
  'networks check': {
    words: '<network> <agent> <instruction>',
    options: ['delegated', ...GIVEN, ...ASKING],
  },
  'networks prompt': {
    words: '<network> [input]',
    options: ['file', 'agent', 'network-version', 'delegated', ...ASKING],
  },
  'networks runs': { words: '<network>', options: ['limit', ...ASKING] },
  'batches create': {
    words: '<network> <file>',
    options: ['format', 'iterations', 'concurrency', 'name', 'agent', ...GIVEN, ...ASKING],
  },
  'batches list': { words: '<network>', options: ['limit', ...ASKING] },
  'batches get': { words: '<batch>', options: ASKING },
  'batches items': { words: '<batch>', options: ['status', 'limit', ...ASKING] },
  'batches results': { words: '<batch>', options: ['format', ...ASKING] },
  'batches watch': { words: '<batch>', options: ASKING },
  'batches cancel': { words: '<batch>', options: ASKING },
  'batches resume': { words: '<batch>', options: ['failed', ...ASKING] },
  'batches delete': { words: '<batch>', options: ASKING },
  'tools list': { words: '', options: ['limit', ...ASKING] },
  'tools get': { words: '<tool>', options: ASKING },
  'tools create': { words: '<file>', options: ASKING },
  'tools apply': { words: '<path>', options: ASKING },
  'tools register': { words: '<module>', options: ASKING },
  'tools try': { words: '<tool> [json]', options: ASKING },
  'tools test': { words: '<tool> [json]', options: ASKING },
  'tools delete': { words: '<tool>', options: ASKING },
  'mcp list': { words: '', options: ['limit', ...ASKING] },
  'mcp get': { words: '<server>', options: ASKING },
  'mcp add': { words: '<name> <where> [arguments]', options: ['header', 'env', 'allow', ...ASKING] },
  'mcp test': { words: '<server>', options: ASKING },
  'mcp import': { words: '<server>', options: ['tools', ...ASKING] },
  'mcp delete': { words: '<server>', options: ASKING },
  'triggers list': { words: '', options: ['limit', ...ASKING] },
  'triggers get': { words: '<trigger>', options: ASKING },
  'triggers apply': { words: '<file>', options: ['prune', ...ASKING] },
  'triggers disable': { words: '<trigger>', options: ASKING },
  'triggers enable': { words: '<trigger>', options: ASKING },
  'triggers delete': { words: '<trigger>', options: ASKING },
  'triggers test': { words: '<trigger>', options: ['limit', ...ASKING] },
  'triggers deliveries': { words: '[trigger]', options: ['status', 'document', 'limit', ...ASKING] },
  'triggers delivery': { words: '<delivery>', options: ASKING },
  'triggers redeliver': { words: '<delivery>', options: ['status', ...ASKING] },
};

/** The command that the words begin with, in the words of the table; `agents` alone is `agents list`. */
export function commandIn(words: string[]): { command: string; action: string; rest: string[] } {
  const [command = '', action = 'list', ...rest] = words;
  if (command === '') throw new UsageError('no command');
  if (Object.hasOwn(SHAPES, command)) return { command, action: '', rest: words.slice(1) };
  if (Object.hasOwn(SHAPES, `${command} ${action}`)) return { command, action, rest };
  const known = Object.keys(SHAPES).map((name) => name.split(' '));
  const actions = known.flatMap(([first, second]) => (first === command ? [second!] : []));
  if (actions.length > 0) {
    const problem = `${command} does not know "${action}"`;
    throw new UsageError(problem, closest(action, actions) ?? `It knows ${actions.join(', ')}.`);
  }
  throw new UsageError(
    `there is no command "${command}"`,
    closest(command, [...new Set(known.map(([first]) => first!))]),
  );
}

/** Refuses options that the command would pass over, and words that are missing or too many. */
export function checkShape(
  name: string,
  words: string[],
  options: Partial<Record<OptionName, unknown>>,
): void {
  const shape = SHAPES[name]!;
  const takes = [...shape.options, ...EVERYWHERE];
  for (const option of Object.keys(options) as OptionName[]) {
    if (!takes.includes(option)) throw new UsageError(`${name} does not take --${option}`, usageOf(name));
  }
  const wanted = shape.words.split(' ').filter((word) => word !== '');
  const missing = wanted.slice(words.length).find((word) => word.startsWith('<'));
  if (missing) throw new UsageError(`${missing} is missing`, usageOf(name));
  // A message may have any number of words. A name of two words needs quotes; the second would be lost without a sound.
  if (words.length <= wanted.length || shape.words.endsWith(']')) return;
  const extra = `"${words[wanted.length]}" is one word too many`;
  throw new UsageError(
    wanted.length > 0 ? `${extra}; put quotes around a name of several` : extra,
    usageOf(name),
  );
}

function usageOf(name: string): string {
  const { words, options } = SHAPES[name]!;
  const shown = options.filter((option) => !ASKING.includes(option)).map((option) => `[--${option} …]`);
  return `Usage: ${['troupe', name, words, ...shown].filter((part) => part !== '').join(' ')}`;
}
