import { type File, fileEndpoints } from '@troupe/protocol';
import type { RequestOptions, Transport } from './transport.ts';

/** The files of a session: `session.files`. Paths begin with `/`. */
export class SessionFiles {
  readonly #transport: Transport;
  readonly #params: { agentId: string; sessionId: string };

  constructor(transport: Transport, params: { agentId: string; sessionId: string }) {
    this.#transport = transport;
    this.#params = params;
  }

  /** All, or those below a directory, by path. */
  async list(path?: string, options?: RequestOptions): Promise<File[]> {
    const query = path === undefined ? {} : { path };
    const { data } = await this.#transport.call(fileEndpoints.list, { params: this.#params, query }, options);
    return data;
  }

  async read(path: string, options?: RequestOptions): Promise<string> {
    return new TextDecoder().decode(await this.readBytes(path, options));
  }

  async readBytes(path: string, options: RequestOptions = {}): Promise<Uint8Array> {
    const input = { params: this.#params, query: { path } };
    const response = await this.#transport.send(fileEndpoints.read, input, { ...options, accept: '*/*' });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Writes it anew where it is there already. */
  write(path: string, content: string | Uint8Array, options?: RequestOptions): Promise<File> {
    const input = { params: this.#params, query: { path }, body: content };
    return this.#transport.call(fileEndpoints.write, input, options);
  }

  /** With `recursive`, a directory with all that is in it. */
  async delete(
    path: string,
    { recursive = false, ...options }: RequestOptions & { recursive?: boolean } = {},
  ): Promise<void> {
    const query = { path, recursive: recursive ? ('true' as const) : ('false' as const) };
    await this.#transport.call(fileEndpoints.remove, { params: this.#params, query }, options);
  }
}
