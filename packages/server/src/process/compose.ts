import { createLogger, type Logger, StartupError } from '../base/index.ts';
import { type Config, readConfig } from '../config/index.ts';
import { createNetworksDoor } from '../doors/networks/index.ts';
import { createSessionsDoor } from '../doors/sessions/index.ts';
import { createSpacesDoor } from '../doors/spaces/index.ts';
import { createTasksDoor } from '../doors/tasks/index.ts';
import { housekeeping, houseTasks } from '../jobs/index.ts';
import { createDemo, createProviders, oneCall } from '../models/index.ts';
import { isAllowEntry } from '../outgoing/index.ts';
import { createTools, McpConnections, mcpServers } from '../tools/index.ts';
import { openOutgoing, programsOf } from './allow-lists.ts';
import { loadCodeTools } from './code-tools.ts';
import { dev } from './dev.ts';
import { Life } from './life.ts';
import { migrateDatabase } from './migrate.ts';
import type { Program, StartedParts } from './program.ts';
import { ProviderRows } from './provider-rows.ts';
import { importFile } from './import.ts';
import { reencrypt } from './reencrypt.ts';
import { serve } from './serve.ts';
import { stopOnFailures, stopOnSignals } from './shutdown.ts';
import { terminal } from './terminal.ts';
import { secretsOf, toolParts } from './tool-parts.ts';
import { version } from './version.ts';
import { work } from './work.ts';

const commands = { dev, serve, work, migrate: migrateDatabase, reencrypt, import: importFile };
/** They do something once and end. */
const ENDING = new Set<string>(['migrate', 'reencrypt', 'import']);
export type Command = keyof typeof commands;

export function isCommand(name: string): name is Command {
  return Object.hasOwn(commands, name);
}

/**
 * The one place where the parts of Troupe are chosen and put together. Resolves when the process has started. With `json`
 * its standard output is for a program: one line that says what has started, while the log goes to standard error. `tools` are modules
 * to take instead of those that the settings name.
 */
export async function compose(
  command: Command,
  {
    json = false,
    tools,
    importing,
  }: { json?: boolean; tools?: string[] | undefined; importing?: Program['importing'] } = {},
): Promise<void> {
  try {
    const settings = readConfig();
    const config = { ...settings, tools: tools ?? settings.tools };
    const forPerson = command === 'dev' && process.stdout.isTTY;
    const logger = createLogger(config.logLevel, json ? process.stderr : forPerson ? terminal : undefined);
    await run(command, config, logger, { json, importing });
  } catch (error) {
    tell(error);
    process.exitCode = 1;
  }
}

async function run(
  command: Command,
  config: Config,
  logger: Logger,
  { json, importing }: { json: boolean; importing: Program['importing'] },
): Promise<void> {
  const life = new Life(logger);
  const exit = (code: number) => process.exit(code);
  stopOnFailures(life, logger, exit);
  stopOnSignals(life, logger, exit);
  const demo = createDemo();
  const providers = new ProviderRows();
  const meaningless = config.outgoingAllow.filter((entry) => !isAllowEntry(entry));
  if (meaningless.length > 0) {
    throw new StartupError(
      'bad_config',
      `TROUPE_OUTGOING_ALLOW names what is no host, address or range: ${meaningless.join(', ')}.`,
      {
        hint: 'Write them as intranet.example, 10.0.0.5:8080, [fd00::1]:443 or 10.1.0.0/16, separated by commas.',
      },
    );
  }
  const place: StartedParts = { origins: [], database: null };
  const outgoing = openOutgoing(() => place.database!, {
    allow: config.outgoingAllow,
    own: () => place.origins,
  });
  const mcp = await life.open(
    'stream',
    async () =>
      new McpConnections({
        outgoing,
        commands: programsOf(() => place.database!, config.mcpCommands),
        environment: config.programEnvironment,
      }),
    (opened) => opened.close(),
  );
  // Before anything is opened: what is wrong with them is told at once.
  const functions = ENDING.has(command) ? new Map() : await loadCodeTools(config.tools);
  const program: Program = {
    name: command,
    version,
    config,
    logger,
    life,
    json,
    importing,
    doors: (db, encryption) => [
      createSessionsDoor(db),
      createSpacesDoor(db),
      createNetworksDoor(db, encryption),
      createTasksDoor(db),
    ],
    models: createProviders(providers, {
      named: { demo: () => demo, one_call: oneCall },
      keys: config.modelKeys,
      addresses: config.modelAddresses,
      fetchFor: outgoing.fetchFor,
    }),
    providers,
    outgoing,
    place,
    functions,
    tools: (db, encryption, kernel) =>
      createTools({ ...toolParts(db, encryption, { kernel, outgoing, mcp }), code: functions }),
    mcp: (db, encryption) => mcpServers({ secrets: secretsOf(db, encryption), mcp }),
    tasks: houseTasks(config),
    crontab: housekeeping,
  };
  try {
    await commands[command](program);
  } catch (error) {
    // Told to stop while it was starting: what that broke is no news, and whoever told it waits for the end.
    if (life.phase === 'draining') return;
    tell(error);
    await life.stop();
    exit(1);
  }
  if (ENDING.has(command)) {
    await life.stop();
    exit(0);
  }
}

/** What the operator can mend is told in a sentence; anything else is ours, and comes with its stack. */
function tell(error: unknown): void {
  if (!(error instanceof StartupError)) console.error(error);
  else console.error(`error: ${error.message}${error.hint ? `\n  ${error.hint}` : ''}`);
}
