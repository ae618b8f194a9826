import { resolve } from 'node:path';
import { StartupError } from '../base/index.ts';
import { type Environment, environment } from './env.ts';

export interface Config {
  port: number;
  host: string;
  /** Where the embedded Postgres lives; an absolute path. */
  home: string;
  /** Null: there is none, and `dev` brings its own. */
  databaseUrl: string | null;
  /** Reaches Postgres without a transaction pooler in between. */
  databaseDirectUrl: string | null;
  /** For how long a start waits for a database that does not answer; null: until it answers. */
  databaseWaitSeconds: number | null;
  /** Pages of these origins may call the API from a browser. */
  origins: string[];
  /** Hosts, addresses and ranges beyond the internet that the requests of the first project may reach. */
  outgoingAllow: string[];
  /** Programs that may be started as MCP servers, as these name them. */
  mcpCommands: string[];
  /** All that such a program is given of this process's environment. */
  programEnvironment: Record<string, string>;
  /** Modules with functions that agents can have as tools. */
  tools: string[];
  /** Null: no collector is set. The rest of its settings is read by OpenTelemetry itself. */
  telemetry: { serviceName: string; sampler: string; ratio: number; delayMs: number } | null;
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** How many runs a worker works on at once. */
  concurrency: number;
  /** For how many days clients that keep copies are told what was deleted. */
  tombstoneDays: number;
  /** For models of these providers that have no key of their own. */
  modelKeys: { openai: string | null; anthropic: string | null };
  /** Where these keys are sent instead of the provider's own address. */
  modelAddresses: { openai: string | null; anthropic: string | null };
  /** The first one encrypts, the others are for what was encrypted before; empty where none is set. */
  encryptionKeys: { id: string; key: Buffer }[];
  /** A secret key that the operator chose, to make the first others with. */
  bootstrapKey: string | null;
  /** Opens `/metrics` and nothing else. */
  metricsToken: string | null;
  /** Where `work`, which serves nothing else, answers for its health and its metrics; null: nowhere. */
  metricsPort: number | null;
}

/** Reads all settings; names everything that is wrong with them at once. */
export function readConfig(variables: Record<string, string | undefined> = process.env): Config {
  const { data, error } = environment.safeParse(variables);
  const problems = (error?.issues ?? []).map(
    (issue) => `${describe(String(issue.path[0]), variables)} ${issue.message}`,
  );
  if (variables.DATABASE_DIRECT_URL && !variables.DATABASE_URL) {
    problems.push('DATABASE_DIRECT_URL needs DATABASE_URL beside it');
  }
  const current = data?.TROUPE_ENCRYPTION_KEY;
  const previous = data?.TROUPE_ENCRYPTION_KEY_PREVIOUS ?? [];
  const encryptionKeys = current ? [current, ...previous] : [];
  if (previous.length > 0 && !current) {
    problems.push('TROUPE_ENCRYPTION_KEY_PREVIOUS needs TROUPE_ENCRYPTION_KEY beside it');
  }
  if (new Set(encryptionKeys.map(({ id }) => id)).size < encryptionKeys.length) {
    problems.push('two encryption keys have the same name before the colon');
  }
  if (!data || problems.length > 0) {
    throw new StartupError('bad_config', `The settings cannot be used: ${problems.join('; ')}.`, {
      hint: 'Correct or unset these environment variables and start again; README.md lists them all.',
      details: { problems },
    });
  }
  return {
    port: data.PORT,
    host: data.HOST,
    home: resolve(data.TROUPE_HOME),
    databaseUrl: data.DATABASE_URL ?? null,
    databaseDirectUrl: data.DATABASE_DIRECT_URL ?? data.DATABASE_URL ?? null,
    databaseWaitSeconds: data.TROUPE_DATABASE_WAIT_SECONDS ?? null,
    origins: data.TROUPE_ORIGINS,
    outgoingAllow: data.TROUPE_OUTGOING_ALLOW,
    mcpCommands: data.TROUPE_MCP_COMMANDS,
    programEnvironment: programEnvironment(variables),
    tools: data.TROUPE_TOOLS,
    telemetry: telemetryOf(data),
    logLevel: data.LOG_LEVEL,
    concurrency: data.TROUPE_CONCURRENCY,
    tombstoneDays: data.TROUPE_TOMBSTONE_DAYS,
    modelKeys: { openai: data.OPENAI_API_KEY ?? null, anthropic: data.ANTHROPIC_API_KEY ?? null },
    modelAddresses: { openai: data.OPENAI_BASE_URL ?? null, anthropic: data.ANTHROPIC_BASE_URL ?? null },
    encryptionKeys,
    bootstrapKey: data.TROUPE_BOOTSTRAP_KEY ?? null,
    metricsToken: data.TROUPE_METRICS_TOKEN ?? null,
    metricsPort: data.TROUPE_METRICS_PORT ?? null,
  };
}

function programEnvironment(variables: Record<string, string | undefined>): Record<string, string> {
  const given = ['PATH', 'HOME', 'LANG'].map((name) => [name, variables[name]] as const);
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function telemetryOf(data: Environment): Config['telemetry'] {
  const isSet = data.OTEL_EXPORTER_OTLP_ENDPOINT ?? data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const isOff = data.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || data.OTEL_TRACES_EXPORTER === 'none';
  if (!isSet || isOff) return null;
  return {
    serviceName: data.OTEL_SERVICE_NAME,
    sampler: data.OTEL_TRACES_SAMPLER,
    ratio: data.OTEL_TRACES_SAMPLER_ARG,
    delayMs: data.OTEL_BSP_SCHEDULE_DELAY,
  };
}

/** An address may hold a password, and a key is one: these values are not shown. */
function describe(name: string, variables: Record<string, string | undefined>): string {
  return /_URL$|_ENDPOINT$|_TOKEN$|_KEY(_|$)/.test(name) ? name : `${name} is "${variables[name]}" and`;
}
