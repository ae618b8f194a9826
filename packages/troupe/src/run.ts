import { ApiError, ConnectionError, Troupe, TroupeClientError } from '@troupe/sdk';
import { agents } from './commands/agents.ts';
import { chat } from './commands/chat.ts';
import { isProcess, startProcess } from './commands/processes.ts';
import { runs } from './commands/runs.ts';
import { tools } from './commands/tools.ts';
import { json, plain } from './output.ts';
import { parse } from './parse.ts';
import { type Terminal, UsageError } from './terminal.ts';
import { checkShape, commandIn, USAGE } from './usage.ts';
import { versionOf } from './version.ts';

/** Does what the words ask for, and answers with the exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  let key: { from: string; value: string } | undefined;
  try {
    const { words, options } = parse(args);
    if (options.help || words[0] === 'help') {
      terminal.out(`${USAGE}\n`);
      return 0;
    }
    if (options.version) {
      terminal.out(options.json ? json({ version: versionOf() }) : `${versionOf()}\n`);
      return 0;
    }
    const { command, action, rest } = commandIn(words);
    checkShape(`${command} ${action}`.trim(), rest, options);
    if (isProcess(command)) return await startProcess(command, options);
    if (command === 'secrets') return await startProcess('reencrypt', options);
    const { TROUPE_URL, TROUPE_KEY } = terminal.env;
    const url = options.url ?? TROUPE_URL;
    if (options.key) key = { from: '--key', value: options.key };
    else if (TROUPE_KEY) key = { from: 'TROUPE_KEY', value: TROUPE_KEY };
    const troupe = new Troupe({ ...(url ? { baseUrl: url } : {}), ...(key ? { key: key.value } : {}) });
    const act =
      command === 'chat' ? chat : { agents, runs, tools }[command as 'agents' | 'runs' | 'tools'][action]!;
    return (await act({ troupe, terminal, words: rest, options })) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`error: ${plain(error.message)}\n${error.hint ? `  ${plain(error.hint)}\n` : ''}`);
      terminal.err(args.length === 0 ? `\n${USAGE}\n` : '  `troupe --help` shows all commands.\n');
      return 2;
    }
    if (!(error instanceof TroupeClientError)) throw error;
    terminal.err(`error: ${plain(error.message)}\n${plain(hintFor(error, key?.from))}`);
    return 1;
  }
}

function hintFor(error: TroupeClientError, keyFrom: string | undefined): string {
  if (error instanceof ConnectionError)
    return '  Start it with `troupe dev`, or say where it is with --url.\n';
  if (!(error instanceof ApiError)) return '';
  if (error.status === 401)
    return keyFrom
      ? `  The key that ${keyFrom} gave is not one of this server, or it was revoked or has expired.\n`
      : '  Give a key with --key or TROUPE_KEY.\n';
  return error.issues.length < 2
    ? ''
    : error.issues.map(({ path, message }) => `  ${path || 'body'}: ${message}\n`).join('');
}
