import { Access, type Encryption } from '../access/index.ts';
import { StartupError } from '../base/index.ts';
import { bringFirstAgents } from '../definitions/agents/index.ts';
import { anyKey, type Database, ensureProject } from '../store/index.ts';
import type { Program } from './program.ts';

/** Who is let in. Without a key nobody is, but for `dev` on an address that only this machine reaches. */
export async function openAccess(program: Program, db: Database, encryption: Encryption): Promise<Access> {
  const { name, config, logger, outgoing } = program;
  const loopback = isLoopback(config.host);
  const { metricsToken } = config;
  const mode = name === 'dev' && loopback ? 'open' : 'closed';
  const access = new Access({ db, mode, encryption, outgoing, metricsToken, furnish: bringFirstAgents });
  const project = await ensureProject(db);
  if (config.bootstrapKey !== null && !(await access.keys.bootstrap(project, config.bootstrapKey)))
    logger.warn('the key of TROUPE_BOOTSTRAP_KEY was revoked, and stays so; unset it, or choose another');
  if (await anyKey(db.rows)) return access;
  if (!loopback) {
    throw new StartupError(
      'no_keys',
      `\`${name}\` would listen on ${config.host}, and nobody has a key yet.`,
      {
        hint: 'Set TROUPE_BOOTSTRAP_KEY to a secret of 32 characters or more (openssl rand -base64 32) and make keys with it; or set HOST to 127.0.0.1.',
      },
    );
  }
  if (name !== 'dev') logger.warn('nobody has a key yet: set TROUPE_BOOTSTRAP_KEY to make the first one');
  return access;
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
