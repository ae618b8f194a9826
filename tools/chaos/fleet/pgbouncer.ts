import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { until } from '@troupe/testing';
import type { Register } from './leftovers.ts';

/** PgBouncer in transaction mode in front of a Postgres. It refuses to run as root, so root runs it as `nobody`. */
export class PgBouncer {
  readonly url: string;
  readonly version: string;
  readonly #start: () => ChildProcess;
  readonly #register: Register;
  readonly #port: number;
  #child: ChildProcess;

  private constructor(
    address: { url: string; port: number; version: string },
    start: () => ChildProcess,
    register: Register,
  ) {
    this.url = address.url;
    this.version = address.version;
    this.#port = address.port;
    this.#start = start;
    this.#register = register;
    this.#child = this.#spawn();
  }

  /** The version that is installed, or null. */
  static installed(): string | null {
    try {
      return (
        /PgBouncer (\S+)/.exec(execFileSync('pgbouncer', ['--version'], { encoding: 'utf8' }))?.[1] ??
        'unknown'
      );
    } catch {
      return null;
    }
  }

  static async open(postgresUrl: string, directory: string, register: Register): Promise<PgBouncer> {
    const version = PgBouncer.installed();
    if (!version)
      throw new Error(
        'PgBouncer is not installed. Install it (apt-get install pgbouncer), or run without --pooled.',
      );
    const home = join(directory, 'pgbouncer');
    mkdirSync(home);
    chmodSync(home, 0o755);
    const target = new URL(postgresUrl);
    const port = await freePort();
    const settings = [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1`,
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${home}/users.txt`,
      'pool_mode = transaction',
      'max_client_conn = 2000',
      'default_pool_size = 40',
      'server_login_retry = 1',
      'ignore_startup_parameters = extra_float_digits,options',
      // From 1.21 on PgBouncer keeps named statements itself; older versions do not know the setting.
      ...(isBefore121(version) ? [] : ['max_prepared_statements = 200']),
    ];
    writeFileSync(join(home, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
    writeFileSync(join(home, 'users.txt'), `"${target.username}" "${decodeURIComponent(target.password)}"\n`);
    const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const start = () => {
      const log = openSync(join(directory, 'pgbouncer.log'), 'a');
      const child = spawn('pgbouncer', [join(home, 'pgbouncer.ini')], { ...as, stdio: ['ignore', log, log] });
      closeSync(log);
      return child;
    };
    const url = new URL(postgresUrl);
    url.host = `127.0.0.1:${port}`;
    const bouncer = new PgBouncer({ url: url.href, port, version }, start, register);
    await bouncer.#listening();
    return bouncer;
  }

  /** Ends it, with all its connections, and starts it again. */
  async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#end(signal);
    this.#child = this.#spawn();
    await this.#listening();
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM');
  }

  #spawn(): ChildProcess {
    const child = this.#start();
    if (child.pid) this.#register.add(child.pid);
    return child;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    if (child.pid) this.#register.remove(child.pid);
  }

  async #listening(): Promise<void> {
    await until('PgBouncer listens', async () => {
      const socket = net.connect(this.#port, '127.0.0.1');
      return new Promise<boolean>((resolve) => {
        socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      }).finally(() => socket.destroy());
    });
  }
}

function isBefore121(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 1 || (major === 1 && minor < 21);
}

export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
