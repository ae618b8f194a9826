import { randomBytes } from 'node:crypto';
import type { Scope } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { noMcp, openKernel } from '@troupe/testing';
import type { Hono } from 'hono';
import { SignJWT } from 'jose';
import { inject } from 'vitest';
import { Access, type Caller, Encryption } from '../../src/access/index.ts';
import { silentLogger } from '../../src/base/index.ts';
import { createApp } from '../../src/http/index.ts';
import { Past } from '../../src/kernel/index.ts';
import { createOutgoing } from '../../src/outgoing/client.ts';
import { Stream } from '../../src/stream/index.ts';
import { Followers } from '../../src/sync/index.ts';
import { after } from '../after.ts';

export function encryptionKey(id = 'v1') {
  return { id, key: randomBytes(32) };
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  body: any;
  text: string;
}

export interface Request {
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export type AccessFixture = Awaited<ReturnType<typeof openAccess>>;

/** The HTTP side of a Troupe on a database of its own, with two projects and a secret key for each. */
export async function openAccess({
  mode = 'closed',
  encryption = new Encryption([encryptionKey()]),
}: {
  mode?: 'open' | 'closed';
  encryption?: Encryption;
} = {}) {
  const statements: string[] = [];
  const fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: false,
    onStatement: (name) => statements.push(name),
  });
  after(() => fixture.close());
  const { db, kernel } = fixture;
  // Those who publish keys in tests do so on this machine.
  const outgoing = createOutgoing({ allowed: async () => ['127.0.0.1'] });
  const access = new Access({ db, mode, encryption, outgoing });
  const stream = new Stream({ db, logger: silentLogger, line: kernel });
  after(async () => stream.close());
  const followers = new Followers({ db, logger: silentLogger });
  after(() => followers.close());
  const app: Hono = createApp({
    logger: silentLogger,
    health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
    services: () => ({
      server: { version: '0', mode: 'serve' as const },
      past: new Past(db, []),
      db,
      kernel,
      access,
      stream,
      followers,
      sealer: access.encryption,
      environmentKeys: {},
      tools: { resolve: () => undefined },
      mcp: noMcp,
    }),
  });
  const ask = async (method: string, path: string, request: Request = {}): Promise<Answer> => {
    const { key, body, headers = {} } = request;
    const response = await app.request(path, {
      method,
      headers: {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : null,
    };
  };
  const makeKey = (project: string, wanted: { kind?: 'secret' | 'public'; scopes?: Scope[] } = {}) =>
    access.keys.create(inside(project), {
      name: 'test',
      kind: 'secret',
      scopes: [],
      expiresAt: null,
      ...wanted,
    });
  const ours = fixture.ids.project;
  const theirs = newId();
  await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [theirs, `other ${theirs}`]);
  const [ourKey, theirKey] = [(await makeKey(ours)).key, (await makeKey(theirs)).key];
  return {
    fixture,
    db,
    kernel,
    access,
    stream,
    followers,
    app,
    ask,
    makeKey,
    ours,
    theirs,
    ourKey,
    theirKey,
    statements,
  };
}

/** Whoever may do everything in a project. */
export function inside(project: string): Caller {
  return { project, kind: 'dev', keyId: null, entityId: null, scopes: null };
}

export const AUDIENCE = 'troupe-test';

/** Lets a project take tokens by a shared secret; answers a public key, and a function that makes tokens. */
export async function takeTokens({ access, makeKey }: AccessFixture, project: string) {
  const secret = randomBytes(32).toString('base64');
  await access.secrets.put(inside(project), 'TOKENS', secret);
  await access.projects.update(inside(project), {
    tokens: {
      algorithms: ['HS256'],
      audience: AUDIENCE,
      issuer: null,
      secretName: 'TOKENS',
      jwksUrl: null,
      claim: 'sub',
    },
  });
  const publicKey = (await makeKey(project, { kind: 'public' })).key;
  const tokenOf = (person: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(person)
      .setAudience(AUDIENCE)
      .setExpirationTime('5 minutes')
      .sign(Buffer.from(secret));
  return { secret, publicKey, tokenOf };
}
