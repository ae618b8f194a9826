import { type Collection, type SyncDocument, syncEndpoints, type WithDeleted } from '@troupe/protocol';
import { framesOf } from './sse.ts';
import { pause, pauseBefore, type Transport } from './transport.ts';

// What RxDB asks of a server, without RxDB: its types are described here as far as they matter, so that only an app that has it needs it.

/** RxDB keeps it as an object; what is in it means nothing to anybody but the server. */
export interface ReplicationCheckpoint {
  checkpoint: string;
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
  onRefused?: (refused: {
    id: string;
    code: string;
    message: string;
    document: Record<string, unknown>;
  }) => void;
  /** Another database answers than the one that the copy was made of: what that one does not have is still here. */
  onRestarted?: () => void;
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

type Pushed = { id: string; _deleted: boolean } & Record<string, unknown>;
type Item = 'RESYNC' | { documents: unknown[]; checkpoint: ReplicationCheckpoint };
type Observer = ((item: Item) => void) | { next?: (item: Item) => void };

/** How often a message is sent whose session is not there: it may be on its way, in the push of another collection. */
const TRIES = 5;
const isEarly = ({ code }: { code: string }) => code === 'chat_not_found';

const WRITABLE: readonly Collection[] = ['messages', 'sessions', 'memberships'];

export function replicationOf<Of extends Collection>(
  transport: Transport,
  collection: Of,
  options: ReplicationOptions = {},
): Replication<Of> {
  const { user, chat, batchSize = 100, live = true, retryTime = 5_000 } = options;
  const params = { collection };
  const whose = { ...(user === undefined ? {} : { user }), ...(chat === undefined ? {} : { chat }) };
  const pull: Replication<Of>['pull'] = {
    batchSize,
    async handler(after, limit) {
      const query = { ...whose, limit, ...(after ? { checkpoint: after.checkpoint } : {}) };
      const { documents, checkpoint, restarted } = await transport.call(syncEndpoints.pull, {
        params,
        query,
      });
      if (restarted) options.onRestarted?.();
      return {
        documents: documents as unknown as WithDeleted<SyncDocument<Of>>[],
        checkpoint: { checkpoint },
      };
    },
    stream$: {
      subscribe(observer: Observer) {
        const ended = new AbortController();
        const tell = (item: Item) =>
          typeof observer === 'function' ? observer(item) : observer.next?.(item);
        void follow(transport, { params, query: whose }, { ...options, signal: ended.signal }, tell).catch(
          () => {},
        );
        return { unsubscribe: () => ended.abort(), closed: false };
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
  return {
    ...replication,
    push: {
      batchSize: Math.min(batchSize, 100),
      async handler(rows) {
        const body = {
          rows: rows.map(({ newDocumentState, assumedMasterState = null }) => ({
            newDocumentState: newDocumentState as unknown as Pushed,
            assumedMasterState: assumedMasterState as Record<string, unknown> | null,
          })),
        };
        const query = user === undefined ? {} : { user };
        // All of it again: what was done by now is found done.
        let pushed = await transport.call(syncEndpoints.push, { params, query, body });
        for (let tries = 1; tries < TRIES && pushed.refused.some(isEarly); tries++) {
          await pause(100 * 2 ** tries);
          pushed = await transport.call(syncEndpoints.push, { params, query, body });
        }
        const { conflicts, refused } = pushed;
        for (const one of refused) {
          const row = rows.find(({ newDocumentState }) => newDocumentState.id === one.id);
          options.onRefused?.({ ...one, document: { ...row?.newDocumentState } });
        }
        return conflicts as unknown as WithDeleted<SyncDocument<Of>>[];
      },
    },
  };
}

/** For ever, until the signal: who is offline tries again, ever less often, and at once when the browser says that it is online. */
async function follow(
  transport: Transport,
  input: { params: { collection: Collection }; query: { user?: string; chat?: string } },
  { signal, silenceMs = 45_000, onDisconnect }: ReplicationOptions & { signal: AbortSignal },
  tell: (item: Item) => void,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const connection = new AbortController();
    const cut = () => connection.abort();
    signal.addEventListener('abort', cut, { once: true });
    let silence = setTimeout(cut, silenceMs);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(cut, silenceMs);
    };
    let failure: unknown = null;
    let retryMs = 0;
    try {
      const response = await transport.send(syncEndpoints.stream, input, {
        accept: 'text/event-stream',
        signal: connection.signal,
        stream: true,
      });
      for await (const { event, data, retryMs: asked } of framesOf(response.body!, alive)) {
        if (asked !== null) retryMs = asked;
        if (event === 'disconnecting') break;
        if (event === 'resync') tell('RESYNC');
        else if (event === 'documents') {
          const { documents, checkpoint } = JSON.parse(data) as { documents: unknown[]; checkpoint: string };
          tell({ documents, checkpoint: { checkpoint } });
        } else continue;
        failures = 0;
      }
    } catch (error) {
      failure = error;
      failures++;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener('abort', cut);
      connection.abort();
    }
    if (signal.aborted) return;
    onDisconnect?.(failure);
    await online(Math.max(retryMs, failure ? pauseBefore(failures - 1, failure) : 0), signal);
  }
}

/** The pause, or until the browser says that it is online again. */
async function online(ms: number, signal: AbortSignal): Promise<void> {
  const { addEventListener, removeEventListener } = globalThis as {
    addEventListener?: (type: string, listener: () => void) => void;
    removeEventListener?: (type: string, listener: () => void) => void;
  };
  const early = new AbortController();
  const wake = () => early.abort();
  addEventListener?.('online', wake);
  await pause(ms, AbortSignal.any([signal, early.signal])).catch(() => {});
  removeEventListener?.('online', wake);
}
