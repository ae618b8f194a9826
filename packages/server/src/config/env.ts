import { z } from 'zod';

/** A variable that is set to nothing counts as not set: that is how compose files and shells leave one out. */
const absentIfEmpty = (value: unknown) =>
  typeof value === 'string' && value.trim() === '' ? undefined : value;

function variable<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(absentIfEmpty, schema);
}

function wholeNumber(from: number, to: number) {
  const expected = `must be a whole number from ${from} to ${to}`;
  return z
    .string()
    .trim()
    .regex(/^\d{1,9}$/, expected)
    .transform(Number)
    .refine((value) => value >= from && value <= to, expected);
}

const postgresUrl = z
  .string()
  .trim()
  .refine(isPostgresUrl, 'must look like postgres://user:password@host:5432/name');

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}

/** It is sent as a header, which holds visible ASCII and nothing else. */
const apiKey = z
  .string()
  .trim()
  .regex(/^[!-~]+$/, 'must be a key as the provider gave it, without spaces');
const isWebAddress = (text: string) =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).username === '';
const webAddress = z
  .string()
  .trim()
  .refine(isWebAddress, 'must be an http or https address, such as https://proxy.example/v1');
const keyShape = /^([A-Za-z0-9_-]{1,40}):([A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/;
const keyExpected = 'must look like v1: followed by 32 bytes in base64';

/** `v1:` and 32 bytes in base64; the part before the colon names the key. */
const encryptionKey = z
  .string()
  .trim()
  .regex(keyShape, keyExpected)
  .transform((text) => {
    const [id, bytes] = text.split(':') as [string, string];
    return { id, key: Buffer.from(bytes, 'base64') };
  });

const encryptionKeys = z
  .string()
  .transform((text) => text.split(',').filter((part) => part.trim() !== ''))
  .pipe(z.array(encryptionKey));

const bootstrapKey = z
  .string()
  .trim()
  .regex(
    /^(?!tpk_)[\x21-\x7e]{32,200}$/,
    'must have 32 to 200 characters, without spaces, and not begin with tpk_',
  );

const metricsToken = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{16,200}$/, 'must have 16 to 200 characters, without spaces');

const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;
const origins = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
  .refine((list) => list.every(isOrigin), 'must be origins such as https://app.example, separated by commas');

const hosts = z.string().transform((text) => text.split(',').flatMap((part) => part.trim() || []));

const isCommand = (text: string) => /^(\/[^\0\n]+|[A-Za-z0-9._+-]+)$/.test(text);
const commands = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
  .refine(
    (list) => list.every(isCommand),
    'must be names or absolute paths of programs, without arguments, separated by commas',
  );
const paths = z.string().transform((text) => text.split(',').flatMap((part) => part.trim() || []));

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** Every variable that Troupe reads. README.md has the same list for people. */
export const environment = z.object({
  PORT: variable(wholeNumber(0, 65_535).default(4700)),
  HOST: variable(z.string().trim().default('127.0.0.1')),
  TROUPE_HOME: variable(z.string().default('.troupe')),
  TROUPE_CONCURRENCY: variable(wholeNumber(1, 10_000).default(100)),
  TROUPE_TOMBSTONE_DAYS: variable(wholeNumber(1, 36_500).default(30)),
  DATABASE_URL: variable(postgresUrl.optional()),
  DATABASE_DIRECT_URL: variable(postgresUrl.optional()),
  TROUPE_DATABASE_WAIT_SECONDS: variable(wholeNumber(0, 31_536_000).optional()),
  OPENAI_API_KEY: variable(apiKey.optional()),
  ANTHROPIC_API_KEY: variable(apiKey.optional()),
  OPENAI_BASE_URL: variable(webAddress.optional()),
  ANTHROPIC_BASE_URL: variable(webAddress.optional()),
  TROUPE_ENCRYPTION_KEY: variable(encryptionKey.optional()),
  TROUPE_ENCRYPTION_KEY_PREVIOUS: variable(encryptionKeys.default([])),
  TROUPE_BOOTSTRAP_KEY: variable(bootstrapKey.optional()),
  TROUPE_METRICS_TOKEN: variable(metricsToken.optional()),
  TROUPE_METRICS_PORT: variable(wholeNumber(0, 65_535).optional()),
  TROUPE_OUTGOING_ALLOW: variable(hosts.default([])),
  TROUPE_MCP_COMMANDS: variable(commands.default([])),
  TROUPE_TOOLS: variable(paths.default([])),
  TROUPE_ORIGINS: variable(origins.default([])),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(webAddress.optional()),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variable(webAddress.optional()),
  OTEL_SDK_DISABLED: variable(z.string().optional()),
  OTEL_TRACES_EXPORTER: variable(z.string().optional()),
  OTEL_SERVICE_NAME: variable(z.string().trim().max(200).default('troupe')),
  OTEL_TRACES_SAMPLER: variable(z.string().trim().default('parentbased_always_on')),
  OTEL_TRACES_SAMPLER_ARG: variable(z.coerce.number('must be a number from 0 to 1').min(0).max(1).default(1)),
  OTEL_BSP_SCHEDULE_DELAY: variable(wholeNumber(0, 600_000).default(5_000)),
  LOG_LEVEL: variable(z.enum(LEVELS, `must be one of ${LEVELS.join(', ')}`).default('info')),
});

export type Environment = z.infer<typeof environment>;
