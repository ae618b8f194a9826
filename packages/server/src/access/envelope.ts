import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { Refusal, TroupeError } from '../base/index.ts';

/** Wraps data keys; the id tells which one wrapped what. */
export interface EncryptionKey {
  id: string;
  key: Buffer;
}

/** A value as it is stored: encrypted with a key of its own, which is encrypted with one of the operator's. */
export type Envelope = {
  /** The operator's key that wrapped the data key. */
  key: string;
  wrapped: string;
  value: string;
};

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM with a random data key per value. The value is bound to its project and name, the data key to the id of
 * the key that wraps it: an envelope that is copied elsewhere does not open. Since the wrapped key knows nothing of
 * names, a change of the operator's key wraps it anew and leaves the value alone.
 */
export class Encryption {
  readonly #keys: Map<string, Buffer>;
  readonly #current: EncryptionKey | null;

  /** The first one encrypts; the others are for what was encrypted before. */
  constructor(keys: readonly EncryptionKey[]) {
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
    this.#current = keys[0] ?? null;
  }

  /** Whether there is a key to encrypt with. */
  get canSeal(): boolean {
    return this.#current !== null;
  }

  get currentKeyId(): string {
    return this.#require().id;
  }

  seal(project: string, name: string, value: string): Envelope {
    const current = this.#require();
    const dataKey = randomBytes(32);
    return {
      key: current.id,
      wrapped: encrypt(current.key, dataKey, bindingOf(current.id)),
      value: encrypt(dataKey, Buffer.from(value), bindingOf(project, name)),
    };
  }

  open(project: string, name: string, envelope: unknown): string {
    const { value } = shapeOf(envelope);
    const dataKey = this.#unwrap(shapeOf(envelope));
    const opened = decrypt(dataKey, value, bindingOf(project, name));
    if (!opened)
      throw broken(
        `The secret "${name}" was changed in the database, or belongs to another project or name.`,
      );
    return opened.toString();
  }

  /** The same value under the current key. */
  rewrap(envelope: unknown): Envelope {
    const current = this.#require();
    const { value } = shapeOf(envelope);
    const dataKey = this.#unwrap(shapeOf(envelope));
    return { key: current.id, wrapped: encrypt(current.key, dataKey, bindingOf(current.id)), value };
  }

  /**
   * What the value is known by, under each key that there is, the current one first: who has the database and none of the keys can
   * check no guess. Each purpose has keys of its own, made of the operator's. None where there is no key.
   */
  fingerprints(purpose: string, value: Buffer): Buffer[] {
    return [...this.#keys.values()].map((key) => {
      const derived = Buffer.from(hkdfSync('sha256', key, '', bindingOf('fingerprint', purpose), 32));
      return createHmac('sha256', derived).update(value).digest();
    });
  }

  #unwrap({ key: id, wrapped }: Envelope): Buffer {
    const key = this.#keys.get(id);
    if (!key) {
      throw new TroupeError(
        'unknown_encryption_key',
        `A secret was encrypted with the key "${id}", which is not known.`,
        {
          hint: 'Add that key to TROUPE_ENCRYPTION_KEY_PREVIOUS, or set the secret again.',
        },
      );
    }
    const dataKey = decrypt(key, wrapped, bindingOf(id));
    if (!dataKey)
      throw broken(
        `The key "${id}" does not fit: it is another one than at the time, or the envelope was changed.`,
      );
    return dataKey;
  }

  #require(): EncryptionKey {
    if (this.#current) return this.#current;
    throw new Refusal('conflict', 'no_encryption_key', 'This server has no key to encrypt secrets with.', {
      hint: 'Set TROUPE_ENCRYPTION_KEY to "v1:" and 32 random bytes in base64 (openssl rand -base64 32), on every process.',
    });
  }
}

function broken(message: string): TroupeError {
  return new TroupeError('envelope_broken', message, { hint: 'Set the secret again.' });
}

function shapeOf(envelope: unknown): Envelope {
  const { key, wrapped, value } = (envelope ?? {}) as Record<string, unknown>;
  if (typeof key === 'string' && typeof wrapped === 'string' && typeof value === 'string')
    return { key, wrapped, value };
  throw broken('What is stored for a secret is no envelope.');
}

/** Unambiguous: no two lists of words give the same bytes. */
function bindingOf(...words: string[]): Buffer {
  return Buffer.from(JSON.stringify(['troupe', 1, ...words]));
}

function encrypt(key: Buffer, plain: Buffer, binding: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(binding);
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
}

/** Null where anything differs from what was encrypted. */
function decrypt(key: Buffer, sealed: string, binding: Buffer): Buffer | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(binding);
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}
