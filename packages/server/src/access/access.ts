import { timingSafeEqual } from 'node:crypto';
import { PromiseCache, Refusal, TroupeError } from '../base/index.ts';
import type { Outgoing } from '../outgoing/index.ts';
import {
  type Database,
  ensureEntity,
  ensureProject,
  type FoundKey,
  type Furnish,
  findKey,
  touchKey,
} from '../store/index.ts';
import { authorize, type Caller } from './caller.ts';
import { Entities } from './entities.ts';
import type { Encryption } from './envelope.ts';
import { hashOf, Keys } from './keys.ts';
import { isFromThisMachine } from './local.ts';
import { Projects } from './projects.ts';
import { Secrets } from './secrets.ts';
import { cannotBeChecked, Tokens } from './tokens.ts';

export interface AccessOptions {
  db: Database;
  /** `open`: whoever comes without a key, from this machine, may do everything in the default project. */
  mode: 'open' | 'closed';
  encryption: Encryption;
  /** Reaches what other projects than the operator's name as the address of their keys; without it, nothing does. */
  outgoing?: Pick<Outgoing, 'fetchFor' | 'forget'>;
  /** Opens `/metrics` and nothing else. */
  metricsToken?: string | null;
  /** What projects have from the start. */
  furnish?: Furnish;
}

/** A revoked key is refused within this, also where another process revoked it. */
const REMEMBERED_MS = 5_000;
const TOUCH_MS = 60_000;

/** Who asks: by a secret key, by a public key with a token of a person, or, in open mode, by nothing. */
export class Access {
  readonly keys: Keys;
  readonly secrets: Secrets;
  readonly projects: Projects;
  readonly entities: Entities;
  readonly encryption: Encryption;
  readonly #db: Database;
  readonly #mode: AccessOptions['mode'];
  readonly #furnish: Furnish | undefined;
  readonly #metricsToken: Buffer | null;
  readonly #tokens: Tokens;
  readonly #known = new PromiseCache<FoundKey | null>({ max: 5_000, ttlMs: REMEMBERED_MS });
  readonly #people = new PromiseCache<{ id: string; type: string }>({ max: 20_000, ttlMs: REMEMBERED_MS });
  readonly #touched = new PromiseCache<void>({ max: 5_000, ttlMs: TOUCH_MS });
  #defaultProject: string | null = null;

  constructor({ db, mode, encryption, outgoing, metricsToken = null, furnish }: AccessOptions) {
    this.#db = db;
    this.#furnish = furnish;
    this.#mode = mode;
    this.#metricsToken = metricsToken === null ? null : hashOf(metricsToken);
    this.encryption = encryption;
    this.#tokens = new Tokens(outgoing?.fetchFor);
    const forget = (project?: string) => {
      this.#known.clear();
      if (project !== undefined) outgoing?.forget?.(project);
    };
    this.keys = new Keys(db, forget);
    this.secrets = new Secrets(db, encryption, forget);
    this.projects = new Projects(db, this.secrets, { changed: forget, furnish });
    this.entities = new Entities(db, () => this.#people.clear());
  }

  /** A person was erased here: their token leads to somebody else. */
  forgetPeople(): void {
    this.#people.clear();
  }

  async authenticate(headers: Headers): Promise<Caller> {
    const authorization = headers.get('authorization');
    const publicKey = headers.get('troupe-key');
    if (authorization === null && publicKey === null) return this.#withoutKey(headers);
    const bearer = authorization === null ? null : bearerOf(authorization);
    if (publicKey === null) return this.#bySecretKey(await this.#find(bearer!));
    const key = await this.#find(publicKey);
    if (key.kind !== 'public')
      throw refused('Troupe-Key takes a public key; a secret one goes into Authorization.');
    if (bearer === null) throw publicAlone();
    return this.#byToken(key, bearer);
  }

  /** Metrics are of all projects together: for whoever runs the server, and for whoever they gave the token. */
  async authorizeMetrics(headers: Headers): Promise<void> {
    const authorization = headers.get('authorization');
    if (authorization !== null && this.#metricsToken !== null) {
      const given = hashOf(/^bearer +(\S+)$/i.exec(authorization.trim())?.[1] ?? '');
      if (timingSafeEqual(given, this.#metricsToken)) return;
    }
    const caller = await this.authenticate(headers);
    authorize(caller, { scope: 'admin' });
    await this.projects.requireOperator(caller, 'Metrics are for whoever runs the server.');
  }

  async #withoutKey(headers: Headers): Promise<Caller> {
    if (this.#mode === 'closed') throw refused('There is no key with the request.');
    if (!isFromThisMachine(headers))
      throw refused('Without a key, only pages and programs of this machine are answered.');
    this.#defaultProject ??= await ensureProject(this.#db, this.#furnish);
    return { project: this.#defaultProject, kind: 'dev', keyId: null, entityId: null, scopes: null };
  }

  #bySecretKey(key: FoundKey): Caller {
    if (key.kind === 'public') throw publicAlone();
    return { project: key.project, kind: 'key', keyId: key.id, entityId: null, scopes: scopesOf(key) };
  }

  async #byToken(key: FoundKey, token: string): Promise<Caller> {
    const { project, tokens } = key;
    if (tokens === null) {
      throw refused('The project takes no tokens of people yet.', 'Set its token rules: PATCH /v1/project.');
    }
    const person = await this.#tokens.check(
      token,
      tokens,
      () => this.#secretOf(key),
      key.first ? null : project,
    );
    const entity = await this.#people.get(JSON.stringify([project, person]), () =>
      ensureEntity(this.#db.rows, project, person),
    );
    if (entity.type !== 'human') throw refused('The token names an agent; only people have tokens.');
    return { project, kind: 'user', keyId: key.id, entityId: entity.id, scopes: scopesOf(key) };
  }

  #secretOf({ project, tokens, envelope }: FoundKey): string | null {
    if (envelope === null || !tokens?.secretName) return null;
    try {
      return this.encryption.open(project, tokens.secretName, envelope);
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      throw cannotBeChecked(error);
    }
  }

  /** The key, if it holds now. */
  async #find(key: string): Promise<FoundKey> {
    const hash = hashOf(key);
    const found = await this.#known.get(hash.toString('base64'), () => findKey(this.#db, hash));
    if (!found) throw refused('The key is not known.');
    if (found.revokedAt !== null) throw refused('The key was revoked.');
    if (found.expiresAt !== null && found.expiresAt.getTime() <= Date.now())
      throw refused('The key is out of date.');
    // Beside the request: whether it was noted must not matter to whoever asks.
    this.#touched.get(found.id, () => touchKey(this.#db.rows, found.id)).catch(() => {});
    return found;
  }
}

function scopesOf({ scopes }: FoundKey): Caller['scopes'] {
  return scopes.length === 0 ? null : scopes;
}

function bearerOf(authorization: string): string {
  const match = /^bearer +(\S+)$/i.exec(authorization.trim());
  if (!match) throw refused('Authorization must be "Bearer" and a key or a token.');
  return match[1]!;
}

function refused(message: string, hint = 'Send "Authorization: Bearer" with a key of the project.'): Refusal {
  return new Refusal('unauthenticated', 'unauthenticated', message, { hint });
}

function publicAlone(): Refusal {
  return new Refusal('forbidden', 'forbidden', 'A public key alone allows nothing.', {
    hint: 'Send it as Troupe-Key, together with "Authorization: Bearer" and the token of a person; or use a secret key, from a server.',
  });
}
