import { Access } from '../access/index.ts';
import { StartupError } from '../base/index.ts';
import { openEncryption } from './encryption-key.ts';
import { connectDatabase, type Program, requireDatabase } from './program.ts';
import { tell } from './tell.ts';

/** Puts every secret and every key of a provider under the current encryption key, says what it did, and ends. */
export async function reencrypt(program: Program): Promise<void> {
  const address = requireDatabase(program);
  const encryption = openEncryption(program.name, program.config);
  if (!encryption.canSeal) {
    throw new StartupError('no_encryption_key', 'There is no key to encrypt with.', {
      hint: 'Set TROUPE_ENCRYPTION_KEY to the new key and TROUPE_ENCRYPTION_KEY_PREVIOUS to the ones before.',
    });
  }
  const db = await connectDatabase(program, address);
  const { secrets } = new Access({ db, mode: 'closed', encryption });
  const { changed, unreadable } = await secrets.reencrypt();
  const count = changed === 1 ? '1 secret is' : `${changed} secrets are`;
  const said = `${count} now under the key "${encryption.currentKeyId}".`;
  const whole = unreadable.length === 0;
  tell(
    program,
    { key: encryption.currentKeyId, changed, unreadable },
    whole ? `${said}\nNothing is left under another one.` : said,
  );
  if (whole) return;
  const list = unreadable.map(({ place, reason }) => `\n  ${place}: ${reason}`).join('');
  throw new StartupError(
    'unreadable_secrets',
    `${unreadable.length} cannot be read and stay as they are:${list}`,
    {
      hint: 'Add the missing keys to TROUPE_ENCRYPTION_KEY_PREVIOUS and run this again, or set these secrets again.',
    },
  );
}
