import { type Collection, tombstoneOf } from '@troupe/protocol';
import type { LocalCollection, ReplicationCheckpoint } from './replication.ts';

/**
 * A pull that begins again because the server does not know the checkpoint, for example after a restore. The server sends
 * all its documents; those in the copy that it did not send are gone. RxDB keeps documents with unsent local changes.
 */
export class Restart {
  readonly #name: Collection;
  readonly #local: LocalCollection | undefined;
  /** Documents of the copy that the server has not sent yet; null: no restart is under way. */
  #missing: Set<string> | null = null;

  constructor(name: Collection, local: LocalCollection | undefined) {
    this.#name = name;
    this.#local = local;
  }

  get isUnderWay(): boolean {
    return this.#missing !== null;
  }

  /** The app was closed during a restart: which documents came before is not known, so all are pulled again. */
  wasInterrupted(checkpoint: ReplicationCheckpoint | undefined): boolean {
    return checkpoint?.restarting === true && this.#missing === null;
  }

  async begin(): Promise<void> {
    if (!this.#local) return;
    const documents = await this.#local.find().exec();
    this.#missing = new Set(documents.map(({ primary }) => primary));
  }

  /** With the last page it returns the documents to remove, as deleted. */
  seen(page: readonly { id: string }[], isLast: boolean): { id: string }[] {
    if (!this.#missing) return [];
    for (const { id } of page) this.#missing.delete(id);
    if (!isLast) return [];
    const removed = [...this.#missing].map((id) => tombstoneOf(this.#name, id));
    this.#missing = null;
    return removed;
  }
}
