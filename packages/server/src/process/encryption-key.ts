import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Encryption, type EncryptionKey } from '../access/index.ts';
import { StartupError } from '../base/index.ts';
import type { Config } from '../config/index.ts';

/**
 * What secrets are encrypted with. `dev` makes a key of its own where none is set, once, and keeps it beside its
 * database; where one is set later, what was encrypted with the own one can still be read, by `reencrypt` too.
 */
export function openEncryption(command: string, { encryptionKeys, home }: Config): Encryption {
  if (command !== 'dev' && command !== 'reencrypt') return new Encryption(encryptionKeys);
  const path = join(home, 'encryption-key');
  if (command === 'dev' && encryptionKeys.length === 0) makeKey(home, path);
  return new Encryption(existsSync(path) ? [...encryptionKeys, readKey(path)] : encryptionKeys);
}

/** It appears as a whole or not at all, whoever else is at it. */
function makeKey(home: string, path: string): void {
  if (existsSync(path)) return;
  mkdirSync(home, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const id = `home-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${id}:${randomBytes(32).toString('base64')}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readKey(path: string): EncryptionKey {
  const [id, bytes] = readFileSync(path, 'utf8').trim().split(':');
  const key = Buffer.from(bytes ?? '', 'base64');
  if (id && key.length === 32) return { id, key };
  throw new StartupError('encryption_key_broken', `${path} is not the key that it was.`, {
    hint: 'Restore it from a backup; or delete it, and set every secret again.',
  });
}
