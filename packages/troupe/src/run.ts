import { ApiError, ConnectionError, Troupe, TroupeClientError } from '@troupe/sdk';
import { agents } from './commands/agents.ts';
import { chat } from './commands/chat.ts';
import { isProcess, startProcess } from './commands/processes.ts';
import { runs } from './commands/runs.ts';
import { plain } from './output.ts';
import { parse } from './parse.ts';
import { type Terminal, UsageError } from './terminal.ts';

const USAGE = `Usage: troupe <command>

  dev                       HTTP and a worker in one process; brings a PostgreSQL where DATABASE_URL is not set
  serve | work | migrate    the parts by themselves; DATABASE_URL says where
  secrets reencrypt         after a change of TROUPE_ENCRYPTION_KEY: puts every secret under the new one

  chat <agent> [message]    talk to an agent; without a message, line by line
       --session <id>       go on with a session
       --model <id>         with this model

  agents list [--status archived]
         get <agent>        create <name> [--prompt <text>] [--model <id>]
         import <file>      export <agent> [--format markdown | yaml | json]
         versions <agent>   diff <agent> <from> <to>     rollback <agent> <version>
         preview <agent>    archive <agent> [--notes <why>]
         unarchive <agent> [--notes <why>]
  runs   list [--status <status>] [--agent <agent>] [--session <id>]
         show <run>         cancel <run>                 retry <run>
         messages <run> [--of run]     of its thread, or only what it was asked and said
         events <run> [--follow]       what happened, and what happens until it ends
         fork <run> <step>             go on from a step, apart
         continue <run> [--title <text>]   a session that begins where the run ended

  --limit       how many of a list, at most 200; default 50
  --json        what is shown, as JSON
  --url, --key  where the server is and the key for it; default TROUPE_URL (http://localhost:4700) and TROUPE_KEY
  --help, --version

An agent is named by its id or its name.`;

/** Does what the words ask for, and answers with the exit code. */
export async function run(words: string[], terminal: Terminal): Promise<number> {
  try {
    const [command = '', ...rest] = words;
    if (command === '--help' || command === '-h' || command === 'help') {
      terminal.out(`${USAGE}\n`);
      return 0;
    }
    if (isProcess(command)) return await startProcess(command, rest);
    if (command === 'secrets') {
      if (rest.join(' ') !== 'reencrypt') throw new UsageError('secrets takes one word: reencrypt');
      return await startProcess('reencrypt', []);
    }
    if (command === '--version' || command === '-v') return await startProcess('--version', []);
    const commands = { chat, agents, runs };
    if (!Object.hasOwn(commands, command)) {
      throw new UsageError(command ? `there is no command "${command}"` : 'no command');
    }
    const given = parse(rest);
    if (given.options.help) {
      terminal.out(`${USAGE}\n`);
      return 0;
    }
    const { TROUPE_URL, TROUPE_KEY } = terminal.env;
    const url = given.options.url ?? TROUPE_URL;
    const key = given.options.key ?? TROUPE_KEY;
    const troupe = new Troupe({ ...(url ? { baseUrl: url } : {}), ...(key ? { key } : {}) });
    return (await commands[command as keyof typeof commands]({ troupe, terminal, ...given })) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`error: ${error.message}\n\n${USAGE}\n`);
      return 2;
    }
    if (!(error instanceof TroupeClientError)) throw error;
    terminal.err(`error: ${plain(error.message)}\n${plain(hintFor(error))}`);
    return 1;
  }
}

function hintFor(error: TroupeClientError): string {
  if (error instanceof ConnectionError)
    return '  Start it with `troupe dev`, or say where it is with --url.\n';
  if (!(error instanceof ApiError)) return '';
  if (error.status === 401) return '  Give a key with --key or TROUPE_KEY.\n';
  return error.issues.length < 2
    ? ''
    : error.issues.map(({ path, message }) => `  ${path || 'body'}: ${message}\n`).join('');
}
