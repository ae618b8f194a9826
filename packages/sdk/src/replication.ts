import { type Collection, type SyncDocument, syncEndpoints, type WithDeleted } from '@troupe/protocol';
import { type FollowedItem, followingOf } from './following.ts';
import { pusher, type Refused, type Row } from './pushing.ts';
import { Restart } from './restart.ts';
import type { Transport } from './transport.ts';

// What RxDB asks of a server, without RxDB: its types are described here as far as they matter, so that only an app that has it needs it.

/** RxDB keeps it as an object; what is in it means nothing to anybody but the server. */
export interface ReplicationCheckpoint {
  checkpoint: string;
  /** The pull began again and is not finished. */
  restarting?: boolean;
}

/** An RxDB collection, as far as the helper reads it. */
export interface LocalCollection {
  find(): { exec(): Promise<readonly { primary: string }[]> };
}

export interface ReplicationOptions {
  /** With a secret key: as this person would see it. */
  user?: string;
  /** Only what is of this session or space. */
  chat?: string;
  /** Documents in one request. Default: 100. */
  batchSize?: number;
  /** False: only once, without following what changes. Default: true. */
  live?: boolean;
  /** After how long RxDB tries again what failed. Default: 5,000. */
  retryTime?: number;
  /** A connection without a sign of life for so long is given up. Default: 45,000. */
  silenceMs?: number;
  /** Of what was written here, the server refused this; RxDB takes it back. */
  onRefused?: (refused: Refused) => void;
  /** How long a message is kept and sent again whose session the server does not know, and nobody here is opening. Default: 120,000. */
  patienceMs?: number;
  /**
   * The copy is too old, or of another database than the one that answers, and is pulled from the beginning. Deletions that the server
   * does not know of reach the copy only if `collection` is set.
   */
  onRestarted?: () => void;
  /** The replicated collection. After a restart the helper removes documents from it that the server does not have. */
  collection?: LocalCollection;
  /** The stream was cut, and is made again. */
  onDisconnect?: (error: unknown) => void;
}

type Written<Of extends Collection> = {
  newDocumentState: WithDeleted<SyncDocument<Of>>;
  assumedMasterState?: WithDeleted<SyncDocument<Of>> | undefined;
};

export interface Replication<Of extends Collection> {
  replicationIdentifier: string;
  deletedField: '_deleted';
  live: boolean;
  retryTime: number;
  pull: {
    batchSize: number;
    handler(
      checkpoint: ReplicationCheckpoint | undefined,
      batchSize: number,
    ): Promise<{ documents: WithDeleted<SyncDocument<Of>>[]; checkpoint: ReplicationCheckpoint }>;
    /** RxDB subscribes to it and asks nothing else of it; its type is that of rxjs, which is not ours. */
    // biome-ignore lint/suspicious/noExplicitAny: see above
    stream$: any;
  };
  /** Left out where clients do not write. */
  push?: {
    batchSize: number;
    handler(rows: Written<Of>[]): Promise<WithDeleted<SyncDocument<Of>>[]>;
  };
}

type Observer = ((item: FollowedItem) => void) | { next?: (item: FollowedItem) => void };

const WRITABLE: readonly Collection[] = ['messages', 'sessions', 'memberships', 'tasks'];

export function replicationOf<Of extends Collection>(
  transport: Transport,
  collection: Of,
  options: ReplicationOptions = {},
): Replication<Of> {
  const { user, chat, batchSize = 100, live = true, retryTime = 5_000 } = options;
  const params = { collection };
  const whose = { ...(user === undefined ? {} : { user }), ...(chat === undefined ? {} : { chat }) };
  const following = followingOf(transport, whose);
  const restart = new Restart(collection, options.collection);
  const pull: Replication<Of>['pull'] = {
    batchSize,
    async handler(after, limit) {
      const begins = restart.wasInterrupted(after);
      const query = { ...whose, limit, ...(after && !begins ? { checkpoint: after.checkpoint } : {}) };
      const { documents, checkpoint, restarted } = await transport.call(syncEndpoints.pull, {
        params,
        query,
      });
      if (restarted) options.onRestarted?.();
      if (restarted || begins) await restart.begin();
      const removed = restart.seen(documents, documents.length < limit);
      return {
        documents: [...documents, ...removed] as unknown as WithDeleted<SyncDocument<Of>>[],
        checkpoint: { checkpoint, restarting: restart.isUnderWay },
      };
    },
    stream$: {
      subscribe(observer: Observer) {
        const tell = (item: FollowedItem) =>
          typeof observer === 'function' ? observer(item) : observer.next?.(item);
        const { silenceMs, onDisconnect } = options;
        const stop = following.follow({ collection, tell, silenceMs, onDisconnect });
        return { unsubscribe: stop, closed: false };
      },
    },
  };
  const replicationIdentifier = ['troupe', transport.baseUrl, collection, user ?? '', chat ?? ''].join(' ');
  const replication: Replication<Of> = {
    replicationIdentifier,
    deletedField: '_deleted',
    live,
    retryTime,
    pull,
  };
  if (!WRITABLE.includes(collection)) return replication;
  const push = pusher(transport, collection, options);
  return {
    ...replication,
    push: {
      batchSize: Math.min(batchSize, 100),
      handler: async (rows) =>
        (await push(
          rows.map(({ newDocumentState, assumedMasterState = null }) => ({
            newDocumentState: newDocumentState as unknown as Row['newDocumentState'],
            assumedMasterState: assumedMasterState as Row['assumedMasterState'],
          })),
        )) as unknown as WithDeleted<SyncDocument<Of>>[],
    },
  };
}
