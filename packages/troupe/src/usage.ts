import { closest } from './closest.ts';
import type { OptionName } from './parse.ts';
import { UsageError } from './terminal.ts';

export const USAGE = `Usage: troupe <command>

  dev                       HTTP and a worker in one process; brings a PostgreSQL where DATABASE_URL is not set
  serve | work | migrate    the parts by themselves; DATABASE_URL says where
  secrets reencrypt         after a change of TROUPE_ENCRYPTION_KEY: puts every secret under the new one

  chat <agent> [message]    talk to an agent; without a message, line by line
       --session <id>       go on with a session
       --model <id>         with this model

  agents list [--status active | archived]
         get <agent>        create <name> [--prompt <text>] [--model <id>]
         import <file>      export <agent> [--format markdown | yaml | json]
         versions <agent>   diff <agent> <from> <to>     rollback <agent> <version>
         preview <agent>    archive <agent> [--notes <why>]
         unarchive <agent> [--notes <why>]
  runs   list [--status <status>] [--agent <agent>] [--session <id>]
         show <run>         cancel <run>                 retry <run>
         messages <run> [--of run]         of its thread, or only what it was asked and said
         events <run> [--follow]           what happened, and what happens until it ends
         fork <run> <step>                 go on from a step, apart
         continue <run> [--title <text>]   a session that begins where the run ended
  tools  list               get <tool>                   create <file>
         apply <file or folder>            makes tools, or makes them what the files say
         try <tool> [json]                 executes it alone; it takes effect
         delete <tool>

  --limit       how many of a list, at most 200; default 50
  --json        what is shown, as JSON
  --url, --key  where the server is and the key for it; default TROUPE_URL (http://localhost:4700) and TROUPE_KEY
  --help, --version

An agent or a tool is named by its id or its name. Options may stand anywhere; what follows -- is no option.`;

interface Shape {
  words: string;
  options: OptionName[];
}

const EVERYWHERE: OptionName[] = ['json', 'help', 'version'];
const ASKING: OptionName[] = ['url', 'key'];

/** What each command takes: to tell what is missing, and that nothing given is passed over in silence. */
const SHAPES: Record<string, Shape> = {
  dev: { words: '', options: [] },
  serve: { words: '', options: [] },
  work: { words: '', options: [] },
  migrate: { words: '', options: [] },
  'secrets reencrypt': { words: '', options: [] },
  chat: { words: '<agent> [message]', options: ['session', 'model', ...ASKING] },
  'agents list': { words: '', options: ['status', 'limit', ...ASKING] },
  'agents get': { words: '<agent>', options: ASKING },
  'agents create': { words: '<name>', options: ['prompt', 'model', ...ASKING] },
  'agents import': { words: '<file>', options: ASKING },
  'agents export': { words: '<agent>', options: ['format', ...ASKING] },
  'agents versions': { words: '<agent>', options: ['limit', ...ASKING] },
  'agents diff': { words: '<agent> <from> <to>', options: ASKING },
  'agents rollback': { words: '<agent> <version>', options: ASKING },
  'agents preview': { words: '<agent>', options: ASKING },
  'agents archive': { words: '<agent>', options: ['notes', ...ASKING] },
  'agents unarchive': { words: '<agent>', options: ['notes', ...ASKING] },
  'runs list': { words: '', options: ['status', 'agent', 'session', 'limit', ...ASKING] },
  'runs show': { words: '<run>', options: ASKING },
  'runs get': { words: '<run>', options: ASKING },
  'runs cancel': { words: '<run>', options: ASKING },
  'runs retry': { words: '<run>', options: ASKING },
  'runs messages': { words: '<run>', options: ['of', ...ASKING] },
  'runs events': { words: '<run>', options: ['follow', ...ASKING] },
  'runs fork': { words: '<run> <step>', options: ASKING },
  'runs continue': { words: '<run>', options: ['title', ...ASKING] },
  'tools list': { words: '', options: ['limit', ...ASKING] },
  'tools get': { words: '<tool>', options: ASKING },
  'tools create': { words: '<file>', options: ASKING },
  'tools apply': { words: '<path>', options: ASKING },
  'tools try': { words: '<tool> [json]', options: ASKING },
  'tools delete': { words: '<tool>', options: ASKING },
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
