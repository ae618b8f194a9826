import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { StartupError } from '../../src/base/index.ts';
import { readConfig } from '../../src/config/index.ts';

function refusal(variables: Record<string, string>): StartupError {
  try {
    readConfig(variables);
  } catch (error) {
    if (error instanceof StartupError) return error;
    throw error;
  }
  throw new Error('these settings were accepted');
}

test('everything may be left out, or set to nothing', () => {
  const defaults = {
    port: 4700,
    host: '127.0.0.1',
    home: resolve('.troupe'),
    databaseUrl: null,
    databaseDirectUrl: null,
    databaseWaitSeconds: null,
    origins: [],
    outgoingAllow: [],
    logLevel: 'info',
    concurrency: 100,
    tombstoneDays: 30,
    modelKeys: { openai: null, anthropic: null },
    modelAddresses: { openai: null, anthropic: null },
    encryptionKeys: [],
    bootstrapKey: null,
    metricsToken: null,
    metricsPort: null,
    tools: [],
    mcpCommands: [],
    programEnvironment: {},
    telemetry: null,
  };
  expect(readConfig({})).toEqual(defaults);
  const names = ['PORT', 'HOST', 'TROUPE_HOME', 'DATABASE_URL', 'DATABASE_DIRECT_URL', 'LOG_LEVEL'];
  expect(readConfig(Object.fromEntries(names.map((name) => [name, ' '])))).toEqual(defaults);
});

test('what is set is used', () => {
  const url = 'postgresql://me:secret@db.example:6432/troupe?sslmode=require';
  expect(
    readConfig({
      PORT: '0',
      HOST: '::',
      TROUPE_HOME: '/srv/x',
      TROUPE_CONCURRENCY: '7',
      LOG_LEVEL: 'debug',
      OPENAI_API_KEY: ' sk-1\n',
      ANTHROPIC_API_KEY: '',
      DATABASE_URL: url,
      TROUPE_DATABASE_WAIT_SECONDS: '90',
      TROUPE_OUTGOING_ALLOW: 'localhost:8080, 10.1.0.0/16,',
      TROUPE_TOOLS: './a.ts, b.ts,',
      TROUPE_MCP_COMMANDS: '/opt/mcp/files, uvx',
      PATH: '/bin',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    }),
  ).toEqual({
    port: 0,
    tools: ['./a.ts', 'b.ts'],
    telemetry: { serviceName: 'troupe', sampler: 'traceidratio', ratio: 0.25, delayMs: 5_000 },
    host: '::',
    home: '/srv/x',
    databaseUrl: url,
    databaseDirectUrl: url,
    databaseWaitSeconds: 90,
    origins: [],
    outgoingAllow: ['localhost:8080', '10.1.0.0/16'],
    mcpCommands: ['/opt/mcp/files', 'uvx'],
    programEnvironment: { PATH: '/bin' },
    logLevel: 'debug',
    concurrency: 7,
    tombstoneDays: 30,
    modelKeys: { openai: 'sk-1', anthropic: null },
    modelAddresses: { openai: null, anthropic: null },
    encryptionKeys: [],
    bootstrapKey: null,
    metricsToken: null,
    metricsPort: null,
  });
  const direct = 'postgres://db.example:5432/troupe';
  expect(readConfig({ DATABASE_URL: url, DATABASE_DIRECT_URL: direct }).databaseDirectUrl).toBe(direct);
});

test('programs are named without arguments', () => {
  for (const TROUPE_MCP_COMMANDS of ['node -e', './here', 'a;b', '/bin/x\n/y'])
    expect(refusal({ TROUPE_MCP_COMMANDS }).message).toContain('TROUPE_MCP_COMMANDS');
});

test.each(['-1', '65536', '80.5', '1e3', '0x50', 'http', '99999999999'])('PORT=%s is refused', (PORT) => {
  expect(refusal({ PORT }).message).toContain(`PORT is "${PORT}"`);
});

test('all that is wrong is told at once, without a password', () => {
  const error = refusal({
    PORT: 'abc',
    LOG_LEVEL: 'loud',
    TROUPE_CONCURRENCY: '0',
    DATABASE_DIRECT_URL: 'mysql://me:secret@host/name',
    OPENAI_API_KEY: 'sk secret',
  });
  expect(error.code).toBe('bad_config');
  expect(error.hint).toContain('start again');
  for (const name of [
    'PORT',
    'LOG_LEVEL',
    'TROUPE_CONCURRENCY',
    'DATABASE_DIRECT_URL must look like',
    'OPENAI_API_KEY must be a key',
  ]) {
    expect(error.message).toContain(name);
  }
  expect(error.message).toContain('DATABASE_DIRECT_URL needs DATABASE_URL');
  expect(error.message).not.toContain('secret');
});

test('encryption keys have names, 32 bytes, and are never shown', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const read = readConfig({
    TROUPE_ENCRYPTION_KEY: `v2:${two.toString('base64')}`,
    TROUPE_ENCRYPTION_KEY_PREVIOUS: ` v1:${one.toString('base64url')} ,`,
    TROUPE_BOOTSTRAP_KEY: 'a'.repeat(32),
  });
  expect(read.encryptionKeys).toEqual([
    { id: 'v2', key: two },
    { id: 'v1', key: one },
  ]);
  expect(read.bootstrapKey).toBe('a'.repeat(32));
  const short = Buffer.alloc(31, 3).toString('base64');
  const bad: Record<string, string>[] = [
    { TROUPE_ENCRYPTION_KEY: short },
    { TROUPE_ENCRYPTION_KEY: `v1:${short}` },
    { TROUPE_ENCRYPTION_KEY: `v1:${Buffer.alloc(33, 3).toString('base64')}` },
    { TROUPE_ENCRYPTION_KEY_PREVIOUS: `v1:${one.toString('base64')}` },
    {
      TROUPE_ENCRYPTION_KEY: `v1:${one.toString('base64')}`,
      TROUPE_ENCRYPTION_KEY_PREVIOUS: `v1:${two.toString('base64')}`,
    },
    { TROUPE_BOOTSTRAP_KEY: 'tooshort' },
    { TROUPE_BOOTSTRAP_KEY: `tpk_${'a'.repeat(40)}` },
  ];
  for (const variables of bad) {
    const { message } = refusal(variables);
    expect(message).toMatch(/ENCRYPTION|encryption|BOOTSTRAP/);
    for (const value of Object.values(variables)) expect(message).not.toContain(value);
  }
});
