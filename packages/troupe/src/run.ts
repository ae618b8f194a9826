import { Troupe } from '@troupe/sdk';
import { agents } from './commands/agents.ts';
import { batches } from './commands/batches.ts';
import { budgets } from './commands/budgets.ts';
import { capabilities } from './commands/capabilities.ts';
import { chat } from './commands/chat.ts';
import type { Command } from './commands/command.ts';
import { entities } from './commands/entities.ts';
import { exportTo } from './commands/export.ts';
import { inbox } from './commands/inbox.ts';
import { keys } from './commands/keys.ts';
import { mcp } from './commands/mcp.ts';
import { models } from './commands/models.ts';
import { networkRuns } from './commands/network-runs.ts';
import { networkVersions } from './commands/network-versions.ts';
import { networks } from './commands/networks.ts';
import { plans } from './commands/plans.ts';
import { isProcess, startProcess } from './commands/processes.ts';
import { providers } from './commands/providers.ts';
import { retention } from './commands/retention.ts';
import { runs } from './commands/runs.ts';
import { secrets } from './commands/secrets.ts';
import { sessions } from './commands/sessions.ts';
import { spaces } from './commands/spaces.ts';
import { tasks } from './commands/tasks.ts';
import { tools } from './commands/tools.ts';
import { triggers } from './commands/triggers.ts';
import { tell } from './failure.ts';
import { json } from './output.ts';
import { parse, wantsJson } from './parse.ts';
import type { Terminal } from './terminal.ts';
import { checkShape, commandIn, USAGE } from './usage.ts';
import { versionOf } from './version.ts';

/** The commands of a noun, by their action. */
const NOUNS: Record<string, Record<string, Command>> = {
  agents,
  capabilities,
  batches,
  networks: { ...networks, ...networkVersions, ...networkRuns },
  plans,
  sessions,
  spaces,
  entities,
  runs,
  tasks,
  inbox,
  providers,
  models,
  keys,
  secrets,
  budgets,
  retention,
  tools,
  mcp,
  triggers,
};

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
    if (command === 'import')
      return await startProcess('import', options, { file: rest[0]!, name: options.name });
    if (command === 'secrets' && action === 'reencrypt') return await startProcess('reencrypt', options);
    const { TROUPE_URL, TROUPE_KEY } = terminal.env;
    const url = options.url ?? TROUPE_URL;
    if (options.key) key = { from: '--key', value: options.key };
    else if (TROUPE_KEY) key = { from: 'TROUPE_KEY', value: TROUPE_KEY };
    const troupe = new Troupe({ ...(url ? { baseUrl: url } : {}), ...(key ? { key: key.value } : {}) });
    const act = command === 'chat' ? chat : command === 'export' ? exportTo : NOUNS[command]![action]!;
    return (await act({ troupe, terminal, words: rest, options })) ?? 0;
  } catch (error) {
    return tell(error, terminal, {
      asJson: wantsJson(args),
      keyFrom: key?.from,
      withUsage: args.length === 0,
    });
  }
}
