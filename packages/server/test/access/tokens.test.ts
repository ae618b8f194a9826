import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TokenRules } from '@troupe/protocol';
import { until } from '@troupe/testing';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { after } from '../after.ts';
import { type AccessFixture, AUDIENCE, inside, openAccess, takeTokens } from './fixture.ts';

/** Who is known by a public key and a token. */
function knows({ access }: AccessFixture, publicKey: string, token: string) {
  return access.authenticate(new Headers({ 'troupe-key': publicKey, authorization: `Bearer ${token}` }));
}

function refuses(fixture: AccessFixture, publicKey: string, token: string) {
  return knows(fixture, publicKey, token).then(
    (caller) => caller,
    (error: { kind?: string; code: string; message: string }) => ({
      kind: error.kind,
      code: error.code,
      message: error.message,
    }),
  );
}

function claims(more: Record<string, unknown> = {}) {
  return { sub: 'ada', aud: AUDIENCE, exp: Math.floor(Date.now() / 1_000) + 300, ...more };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token by hand, so that nothing stops it from being wrong. */
function forge(header: object, payload: object, secret: string | null, hash = 'sha256'): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${secret === null ? '' : createHmac(hash, secret).update(text).digest('base64url')}`;
}

test('a token names the entity, which is made once', async () => {
  const fixture = await openAccess();
  const { publicKey, tokenOf } = await takeTokens(fixture, fixture.ours);
  const token = await tokenOf('ada');
  const callers = await Promise.all(Array.from({ length: 10 }, () => knows(fixture, publicKey, token)));
  const [caller] = callers;
  expect(caller).toMatchObject({ project: fixture.ours, kind: 'user', scopes: null });
  expect(new Set(callers.map(({ entityId }) => entityId)).size).toBe(1);
  const { rows } = await fixture.db.pool.query(
    `select id, type, external_id, project_id from troupe.entities where type = 'human'`,
  );
  expect(rows).toEqual([
    { id: caller!.entityId, type: 'human', external_id: 'ada', project_id: fixture.ours },
  ]);
  expect((await knows(fixture, publicKey, await tokenOf('bob'))).entityId).not.toBe(caller!.entityId);
  // A person may not do what is for administrators.
  const refused = await fixture.ask('GET', '/v1/project', {
    headers: { 'troupe-key': publicKey, authorization: `Bearer ${token}` },
  });
  expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  // The token does not stand for itself.
  const alone = await fixture.ask('GET', '/v1/project', { key: token });
  expect(alone.status).toBe(401);
});

test('a token that is wrong in any one way is refused, and makes nobody', async () => {
  const fixture = await openAccess();
  const { publicKey, secret } = await takeTokens(fixture, fixture.ours);
  const others = await takeTokens(fixture, fixture.theirs);
  const HS256 = { alg: 'HS256' };
  const good = claims();
  const wrong: Record<string, string> = {
    'other audience': forge(HS256, claims({ aud: 'elsewhere' }), secret),
    'no audience': forge(HS256, claims({ aud: undefined }), secret),
    expired: forge(HS256, claims({ exp: Math.floor(Date.now() / 1_000) - 60 }), secret),
    'no expiry': forge(HS256, claims({ exp: undefined }), secret),
    'not yet': forge(HS256, claims({ nbf: Math.floor(Date.now() / 1_000) + 60 }), secret),
    'expiry that is no number': forge(HS256, claims({ exp: '2099' }), secret),
    none: forge({ alg: 'none' }, good, null),
    'none with a signature': forge({ alg: 'none' }, good, secret),
    None: forge({ alg: 'None' }, good, null),
    'no algorithm': forge({}, good, secret),
    'algorithm outside the rules': forge({ alg: 'HS512' }, good, secret, 'sha512'),
    'algorithm of another kind': forge({ alg: 'RS256' }, good, secret),
    'secret of another project': forge(HS256, good, others.secret),
    'wrong secret': forge(HS256, good, 'x'.repeat(40)),
    'no signature': forge(HS256, good, null),
    'empty secret': forge(HS256, good, ''),
    'critical extension': forge({ ...HS256, crit: ['b64'], b64: false }, good, secret),
    'key in the header': forge({ ...HS256, jwk: { kty: 'oct', k: 'eA' } }, good, 'x'),
    nobody: forge(HS256, claims({ sub: undefined }), secret),
    'empty name': forge(HS256, claims({ sub: '' }), secret),
    'name that is no text': forge(HS256, claims({ sub: { id: 'ada' } }), secret),
    'name with NUL': forge(HS256, claims({ sub: 'a\u0000b' }), secret),
    'half a character': forge(HS256, claims({ sub: 'a\ud800' }), secret),
    'long name': forge(HS256, claims({ sub: 'a'.repeat(501) }), secret),
    'no object': `${encode(HS256)}.${encode('ada')}.x`,
    garbage: 'a.b.c',
    'no token': 'ada',
  };
  for (const [what, token] of Object.entries(wrong)) {
    expect([what, await refuses(fixture, publicKey, token)]).toEqual([
      what,
      expect.objectContaining({ kind: 'unauthenticated', code: 'unauthenticated' }),
    ]);
  }
  expect(await refuses(fixture, others.publicKey, forge(HS256, good, secret))).toMatchObject({
    kind: 'unauthenticated',
  });
  expect((await fixture.db.pool.query(`select from troupe.entities where type = 'human'`)).rows).toEqual([]);
  expect(await refuses(fixture, publicKey, forge(HS256, good, secret))).toMatchObject({ kind: 'user' });
});

test('a token cannot name an agent', async () => {
  const fixture = await openAccess();
  const { publicKey, tokenOf } = await takeTokens(fixture, fixture.ours);
  await fixture.db.pool.query(`update troupe.entities set external_id = 'robot' where id = $1`, [
    fixture.fixture.ids.entity,
  ]);
  expect(await refuses(fixture, publicKey, await tokenOf('robot'))).toMatchObject({
    kind: 'unauthenticated',
  });
});

test('what belongs to nobody in particular can be had by no name', async () => {
  const fixture = await openAccess();
  const { publicKey, tokenOf } = await takeTokens(fixture, fixture.ours);
  const path = `/v1/agents/${fixture.fixture.ids.agent}/sessions`;
  const opened = await fixture.ask('POST', path, { key: fixture.ourKey, body: {} });
  expect(opened.status).toBe(201);
  const { rows } = await fixture.db.pool.query<{ name: string }>(
    'select external_id as name from troupe.entities where id = $1',
    [opened.body.entityId],
  );
  const [{ name }] = rows as [{ name: string }];
  // By a token that names the owner, whatever they are called inside.
  expect(await refuses(fixture, publicKey, await tokenOf(name))).toMatchObject({ kind: 'unauthenticated' });
  // By a caller who names them.
  const named = await fixture.ask('POST', path, { key: fixture.ourKey, body: { user: name } });
  expect([named.status, named.body.code]).toEqual([422, 'invalid_request']);
  // Or by the names that one would try.
  for (const guess of ['dev', 'nobody', 'troupe', 'null', name.toUpperCase(), ` ${name}`]) {
    const headers = { 'troupe-key': publicKey, authorization: `Bearer ${await tokenOf(guess)}` };
    expect((await fixture.ask('GET', `${path}/${opened.body.id}`, { headers })).status).toBe(404);
    expect((await fixture.ask('GET', path, { headers })).body.data).toEqual([]);
  }
});

test('the issuer and the claim are those of the rules', async () => {
  const fixture = await openAccess();
  const { publicKey, secret } = await takeTokens(fixture, fixture.ours);
  const { tokens } = await fixture.access.projects.get(inside(fixture.ours));
  await fixture.access.projects.update(inside(fixture.ours), {
    tokens: { ...(tokens as unknown as TokenRules), issuer: 'https://us', claim: 'user_id' },
  });
  const token = (more: object) => forge({ alg: 'HS256' }, claims({ sub: undefined, ...more }), secret);
  expect(await refuses(fixture, publicKey, token({ iss: 'https://us', user_id: 'ada' }))).toMatchObject({
    kind: 'user',
  });
  expect(await refuses(fixture, publicKey, token({ user_id: 'ada' }))).toMatchObject({
    kind: 'unauthenticated',
  });
  expect(await refuses(fixture, publicKey, token({ iss: 'https://them', user_id: 'ada' }))).toMatchObject({
    kind: 'unauthenticated',
  });
  expect(await refuses(fixture, publicKey, token({ iss: 'https://us', sub: 'ada' }))).toMatchObject({
    kind: 'unauthenticated',
  });
});

/** Serves public keys; counts how often it is asked. */
async function publish(keys: () => JWK[]) {
  const state = { asked: 0, well: true, endless: false, given: 0, gone: false };
  const server = createServer((_request, response) => {
    state.asked++;
    response.statusCode = state.well ? 200 : 500;
    if (state.endless) {
      const more = () => {
        do state.given += 65_536;
        while (response.write(' '.repeat(65_536)));
      };
      response.on('drain', more).on('close', () => {
        state.gone = true;
      });
      return more();
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: keys() }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`, state };
}

function rulesOf(algorithms: TokenRules['algorithms'], jwksUrl: string): TokenRules {
  return { algorithms, audience: AUDIENCE, issuer: null, secretName: null, jwksUrl, claim: 'sub' };
}

test.each(['RS256', 'ES256', 'EdDSA'] as const)(
  '%s by published keys, which are asked for once',
  async (alg) => {
    const fixture = await openAccess();
    const [known, unknown] = [await generateKeyPair(alg), await generateKeyPair(alg)];
    const { url, state } = await publish(() => published);
    const published = [{ ...(await exportJWK(known.publicKey)), kid: 'one', alg, use: 'sig' }];
    await fixture.access.projects.update(inside(fixture.ours), { tokens: rulesOf([alg], url) });
    const { key } = await fixture.makeKey(fixture.ours, { kind: 'public' });
    const sign = (pair: typeof known, kid: string) =>
      new SignJWT(claims()).setProtectedHeader({ alg, kid }).sign(pair.privateKey);
    const token = await sign(known, 'one');
    for (let i = 0; i < 5; i++) expect(await refuses(fixture, key, token)).toMatchObject({ kind: 'user' });
    expect(state.asked).toBe(1);
    for (const bad of [await sign(unknown, 'one'), await sign(unknown, 'two')])
      expect(await refuses(fixture, key, bad)).toMatchObject({ kind: 'unauthenticated' });
  },
);

test('a published key never serves as a shared secret', async () => {
  const fixture = await openAccess();
  const { publicKey: pem, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(pem)), kid: 'one' };
  const { url } = await publish(() => [
    jwk,
    { kty: 'oct', k: Buffer.from('x'.repeat(32)).toString('base64url'), kid: 'oct' },
  ]);
  const { publicKey, secret } = await takeTokens(fixture, fixture.ours);
  const { tokens } = await fixture.access.projects.get(inside(fixture.ours));
  const text = await exportSPKI(pem);
  const forged = [
    forge({ alg: 'HS256', kid: 'one' }, claims(), text),
    forge({ alg: 'HS256', kid: 'one' }, claims(), text.trim()),
    forge({ alg: 'HS256', kid: 'one' }, claims(), JSON.stringify(jwk)),
    forge({ alg: 'HS256', kid: 'oct' }, claims(), 'x'.repeat(32)),
    forge({ alg: 'RS256', kid: 'one' }, claims(), secret),
  ];
  const real = await new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey);
  for (const algorithms of [['RS256'], ['RS256', 'HS256']] as TokenRules['algorithms'][]) {
    await fixture.access.projects.update(inside(fixture.ours), {
      tokens: { ...(tokens as unknown as TokenRules), algorithms, jwksUrl: url },
    });
    for (const token of forged)
      expect(await refuses(fixture, publicKey, token)).toMatchObject({ kind: 'unauthenticated' });
    expect(await refuses(fixture, publicKey, real)).toMatchObject({ kind: 'user' });
  }
});

test('published keys that cannot be had are no fault of the caller', async () => {
  const fixture = await openAccess();
  const { url, state } = await publish(() => []);
  state.well = false;
  await fixture.access.projects.update(inside(fixture.ours), { tokens: rulesOf(['RS256'], url) });
  const { key } = await fixture.makeKey(fixture.ours, { kind: 'public' });
  const { privateKey } = await generateKeyPair('RS256');
  const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  const headers = { 'troupe-key': key, authorization: `Bearer ${token}` };
  const answer = await fixture.ask('GET', '/v1/project', { headers });
  expect([answer.status, answer.body.code]).toEqual([503, 'token_keys_unavailable']);
  // Nor are those that never end: they are given up long before the time is.
  Object.assign(state, { well: true, endless: true });
  const other = await fixture.ask('GET', '/v1/project', { headers });
  expect([other.status, other.body.code]).toEqual([503, 'token_keys_unavailable']);
  await until('the connection is given up', async () => state.gone);
  expect(state.given).toBeLessThan(16 * 1024 * 1024);
  expect(answer.headers.get('retry-after')).toBe('2');
});

test('rules are refused where they could not work', async () => {
  const { ask, access, ours, theirs, ourKey } = await openAccess();
  await access.secrets.put(inside(theirs), 'THEIRS', randomBytes(32).toString('hex'));
  await access.secrets.put(inside(ours), 'SHORT', 'short');
  const set = (tokens: object) => ask('PATCH', '/v1/project', { key: ourKey, body: { tokens } });
  const bad: [object, number, string][] = [
    [{ algorithms: ['HS256'], audience: 'a' }, 422, 'invalid_request'],
    [{ algorithms: ['RS256'], audience: 'a', secretName: 'SHORT' }, 422, 'invalid_request'],
    [{ algorithms: ['none'], audience: 'a', secretName: 'SHORT' }, 422, 'invalid_request'],
    [{ algorithms: [], audience: 'a' }, 422, 'invalid_request'],
    [{ algorithms: ['HS256'], secretName: 'SHORT' }, 422, 'invalid_request'],
    [{ algorithms: ['RS256'], audience: 'a', jwksUrl: 'http://keys.example/jwks' }, 422, 'invalid_request'],
    [{ algorithms: ['RS256'], audience: 'a', jwksUrl: 'file:///etc/passwd' }, 422, 'invalid_request'],
    [{ algorithms: ['RS256'], audience: 'a', jwksUrl: 'no address' }, 422, 'invalid_request'],
    [{ algorithms: ['HS256'], audience: 'a', secretName: 'THEIRS' }, 422, 'secret_not_found'],
  ];
  for (const [tokens, status, code] of bad) {
    const answer = await set(tokens);
    expect([tokens, answer.status, answer.body.code]).toEqual([tokens, status, code]);
  }
  expect((await ask('GET', '/v1/project', { key: ourKey })).body.tokens).toBeNull();
});

test('a shared secret that could be guessed is not used, and whoever sends a token is not told why', async () => {
  const fixture = await openAccess();
  const { publicKey } = await takeTokens(fixture, fixture.ours);
  // As it may have been set before short ones were refused.
  const short = fixture.access.encryption.seal(fixture.ours, 'TOKENS', 'short');
  await fixture.db.pool.query(`update troupe.secrets set envelope = $1 where name = 'TOKENS'`, [short]);
  const authorization = `Bearer ${forge({ alg: 'HS256' }, claims(), 'short')}`;
  const headers = { 'troupe-key': publicKey, authorization };
  const { status, text } = await fixture.ask('GET', '/v1/agents', { headers });
  expect(status).toBe(401);
  expect(text).not.toMatch(/secret|bytes|short/i);
});

test('a secret that is too short for tokens is refused to whoever sets it up', async () => {
  const fixture = await openAccess();
  const { ask, ourKey: key } = fixture;
  const { publicKey, tokenOf } = await takeTokens(fixture, fixture.ours);
  const put = (name: string, value: string) => ask('PUT', `/v1/secrets/${name}`, { key, body: { value } });
  const rules = (secretName: string) => ({ algorithms: ['HS256'], audience: AUDIENCE, secretName });
  const patch = (secretName: string) =>
    ask('PATCH', '/v1/project', { key, body: { tokens: rules(secretName) } });
  const tooShort = { status: 422, body: { code: 'secret_too_short' } };
  // For anything else a secret may be as short as it likes.
  expect((await put('SHORT', 'x'.repeat(31))).status).toBeLessThan(300);
  expect(await patch('SHORT')).toMatchObject(tooShort);
  expect(await patch('ABSENT')).toMatchObject({ status: 422, body: { code: 'secret_not_found' } });
  expect(await put('TOKENS', 'x'.repeat(31))).toMatchObject(tooShort);
  // In bytes: sixteen of these are thirty-two.
  expect((await put('SHORT', 'é'.repeat(16))).status).toBeLessThan(300);
  expect((await patch('SHORT')).status).toBe(200);
  expect((await patch('TOKENS')).status).toBe(200);
  expect(await refuses(fixture, publicKey, await tokenOf('ada'))).toMatchObject({ kind: 'user' });
});
