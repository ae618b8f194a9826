/** The program: finds out what is wanted. What it is made of is put together in process/compose.ts. */
import { enableCompileCache } from 'node:module';

const USAGE = `Usage: node main.ts <command>

  dev        HTTP and a worker in one process; starts a PostgreSQL of its own where DATABASE_URL is not set
  serve      HTTP alone
  work       a worker alone
  migrate    brings the database to the current schema and ends
  reencrypt  puts all secrets under the current encryption key and ends

  --tools <module,…>   dev, serve, work: functions of yours for agents to use (TROUPE_TOOLS)
  --help, --version

Settings are environment variables; README.md lists them.`;

async function main([name = '', ...rest]: string[]): Promise<void> {
  if (name === '--help' || name === '-h') return console.log(USAGE);
  // What was compiled once is kept for the next start, whose imports then take 0.4 s of processor time instead of 0.9 s.
  enableCompileCache();
  const { version } = await import('./process/version.ts');
  if (name === '--version' || name === '-v') return console.log(version);
  const { compose, isCommand } = await import('./process/compose.ts');
  const [option, tools, ...more] = rest;
  const given = option === '--tools' && tools && more.length === 0 ? tools.split(',') : undefined;
  if (isCommand(name) && (rest.length === 0 || given)) return compose(name, { tools: given });
  const problem = isCommand(name)
    ? `${name} takes no arguments`
    : name
      ? `there is no command "${name}"`
      : 'no command';
  console.error(`error: ${problem}\n\n${USAGE}`);
  process.exitCode = 1;
}

await main(process.argv.slice(2));
