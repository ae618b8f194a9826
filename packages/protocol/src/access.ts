import { z } from 'zod';
import { id, listQuery, name, page, timestamp } from './common.ts';
import { endpoint, scope } from './endpoint.ts';
import { jsonObject } from './json.ts';

export const apiKey = z.object({
  id,
  name,
  kind: z
    .enum(['secret', 'public'])
    .describe('`secret`: for servers. `public`: for browsers, together with the token of a person.'),
  prefix: z.string().describe('The beginning of the key, to tell keys apart.'),
  scopes: z.array(scope).describe('Empty: everything that the kind allows.'),
  expiresAt: timestamp.nullable(),
  lastUsedAt: timestamp.nullable(),
  revokedAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type ApiKey = z.infer<typeof apiKey>;

export const newApiKey = z.strictObject({
  name,
  kind: z.enum(['secret', 'public']).default('secret'),
  scopes: z.array(scope).max(20).describe('Empty: everything that the kind allows.').default([]),
  expiresAt: timestamp.nullable().describe('Null: never.').default(null),
});

const keyParams = z.object({ keyId: id });

export const secretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/, 'letters, digits, "_", "-" and ".", at most 100, a letter first');
export const secret = z.object({ name: secretName, createdAt: timestamp, updatedAt: timestamp });
export type Secret = z.infer<typeof secret>;

export const auditEntry = z.object({
  id: z.string(),
  /** Who did it: a key, a person's entity, or the system. */
  actor: z.object({ kind: z.enum(['key', 'user', 'dev', 'system']), id: z.string().nullable() }),
  action: z.string(),
  target: z.string().nullable(),
  data: jsonObject,
  createdAt: timestamp,
});
export type AuditEntry = z.infer<typeof auditEntry>;

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Published keys are only as good as the way to them. */
const jwksUrl = z
  .url()
  .max(2_000)
  .refine((text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname } = new URL(text);
    return protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname));
  }, 'must be an https address');

/** How the tokens of people are checked: by a shared secret (its name among the secrets) or by published keys. */
export const tokenRules = z
  .strictObject({
    algorithms: z.array(z.enum(['HS256', 'HS384', 'HS512', 'RS256', 'ES256', 'EdDSA'])).min(1),
    audience: z.string().min(1).max(500),
    issuer: z.string().min(1).max(500).nullable().default(null),
    /** For HS256, HS384 and HS512; at least 32 bytes. */
    secretName: secretName.nullable().default(null),
    /** For RS256, ES256 and EdDSA. */
    jwksUrl: jwksUrl.nullable().default(null),
    /** The claim that names the entity by its external id. */
    claim: z.string().min(1).max(100).default('sub'),
  })
  .superRefine(({ algorithms, secretName, jwksUrl }, context) => {
    const shared = algorithms.some((algorithm) => algorithm.startsWith('HS'));
    const published = algorithms.some((algorithm) => !algorithm.startsWith('HS'));
    if (shared && secretName === null)
      context.addIssue({ code: 'custom', path: ['secretName'], message: 'is needed for HS algorithms' });
    if (published && jwksUrl === null)
      context.addIssue({ code: 'custom', path: ['jwksUrl'], message: 'is needed for RS, ES and EdDSA' });
  });
export type TokenRules = z.infer<typeof tokenRules>;

/**
 * What the requests of a project may reach although it is not on the internet: hosts, addresses and ranges, with a port where only
 * that one is meant.
 */
export const outgoingRules = z.strictObject({
  allow: z.array(z.string().min(1).max(300)).max(200),
});
export type OutgoingRules = z.infer<typeof outgoingRules>;

export const project = z.object({
  id,
  name,
  tokens: tokenRules.nullable(),
  defaultModelId: id.nullable(),
  compactionModelId: id
    .nullable()
    .describe(
      'The model that summarises conversations of agents that name none. Null: the model of the agent.',
    ),
  outgoing: outgoingRules,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type Project = z.infer<typeof project>;

export const accessEndpoints = {
  createProject: endpoint({
    method: 'POST',
    path: '/v1/projects',
    tag: 'project',
    summary: 'Make a project, with a first secret key that is shown this once',
    description:
      'Only from the project that is there from the start, which belongs to whoever runs the server.',
    scope: 'admin',
    body: z.strictObject({ name }),
    status: 201,
    response: project.extend({ key: z.string() }),
    problems: ['name_taken'],
    shownOnce: true,
  }),
  listProjects: endpoint({
    method: 'GET',
    path: '/v1/projects',
    tag: 'project',
    summary: 'All projects; only from the project that is there from the start',
    scope: 'admin',
    query: listQuery,
    status: 200,
    response: page(project),
  }),
  changeProject: endpoint({
    method: 'PATCH',
    path: '/v1/projects/{projectId}',
    tag: 'project',
    summary: 'Decide what the requests of a project may reach beyond the internet',
    description:
      'Only from the project that is there from the start. An entry is a host, an address or a range, with a port where only that one is meant: `intranet.example`, `10.0.0.5:8080`, `[fd00::1]:443`, `10.1.0.0/16`. Holds within five seconds, in every process.',
    scope: 'admin',
    params: z.object({ projectId: id }),
    body: z.strictObject({ outgoing: outgoingRules }),
    status: 200,
    response: project,
    problems: ['allow_entry_invalid'],
  }),
  getProject: endpoint({
    method: 'GET',
    path: '/v1/project',
    tag: 'project',
    summary: 'The project of the key',
    scope: 'admin',
    status: 200,
    response: project,
  }),
  updateProject: endpoint({
    method: 'PATCH',
    path: '/v1/project',
    tag: 'project',
    summary: 'Rename the project, set how tokens are checked, choose the default model',
    scope: 'admin',
    body: z.strictObject({
      name: name.optional(),
      tokens: tokenRules.nullable().optional(),
      defaultModelId: id.nullable().optional(),
      compactionModelId: id.nullable().optional(),
    }),
    status: 200,
    response: project,
    problems: ['name_taken', 'name_fixed', 'model_not_found', 'secret_not_found', 'secret_too_short'],
  }),
  createKey: endpoint({
    method: 'POST',
    path: '/v1/keys',
    tag: 'keys',
    summary: 'Make a key; it is shown this once',
    scope: 'admin',
    body: newApiKey,
    shownOnce: true,
    status: 201,
    response: apiKey.extend({ key: z.string() }),
  }),
  listKeys: endpoint({
    method: 'GET',
    path: '/v1/keys',
    tag: 'keys',
    summary: 'All keys of the project, without the keys themselves',
    scope: 'admin',
    query: listQuery,
    status: 200,
    response: page(apiKey),
  }),
  revokeKey: endpoint({
    method: 'DELETE',
    path: '/v1/keys/{keyId}',
    tag: 'keys',
    summary: 'Revoke a key, for good',
    scope: 'admin',
    params: keyParams,
    status: 204,
  }),
  listSecrets: endpoint({
    method: 'GET',
    path: '/v1/secrets',
    tag: 'secrets',
    summary: 'The names of all secrets; values are never shown',
    scope: 'admin',
    query: listQuery,
    status: 200,
    response: page(secret),
  }),
  putSecret: endpoint({
    method: 'PUT',
    path: '/v1/secrets/{name}',
    tag: 'secrets',
    summary: 'Set a secret',
    scope: 'admin',
    params: z.object({ name: secretName }),
    body: z.strictObject({ value: z.string().min(1).max(65_536) }),
    status: 200,
    response: secret,
    problems: ['no_encryption_key', 'secret_too_short'],
  }),
  deleteSecret: endpoint({
    method: 'DELETE',
    path: '/v1/secrets/{name}',
    tag: 'secrets',
    summary: 'Delete a secret',
    scope: 'admin',
    params: z.object({ name: secretName }),
    status: 204,
    problems: ['secret_in_use'],
  }),
  listAudit: endpoint({
    method: 'GET',
    path: '/v1/audit',
    tag: 'audit',
    summary: 'Who changed what, newest first',
    scope: 'admin',
    query: listQuery.extend({
      action: z
        .string()
        .max(100)
        .describe('An action, or how it begins: `agent.changed`, `agent.`')
        .optional(),
    }),
    status: 200,
    response: page(auditEntry),
  }),
} as const;
