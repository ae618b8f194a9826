import type { SyncDocument } from '@troupe/protocol';
import { type Troupe, troupeCollections, troupeReplication } from '@troupe/sdk';
import { createRxDatabase, type RxCollection } from 'rxdb/plugins/core';
import { replicateRxCollection } from 'rxdb/plugins/replication';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';

const NAMES = ['sessions', 'messages', 'tasks', 'sub_agent_messages'] as const;

type Collections = { [Name in (typeof NAMES)[number]]: RxCollection<SyncDocument<Name>> };

/** A copy of what the server has for this person, kept in the browser and up to date whenever there is a network. */
export async function openDatabase(
  client: Troupe,
  onRefused: (refused: { message: string }) => void,
): Promise<Collections> {
  const database = await createRxDatabase<Collections>({
    name: 'offline-chat',
    storage: getRxStorageDexie(),
  });
  await database.addCollections(troupeCollections(...NAMES) as never);
  const { sessions, messages, tasks, sub_agent_messages } = database;

  replicateRxCollection({
    collection: sessions,
    ...troupeReplication('sessions', { client, onRefused, collection: sessions }),
  });
  replicateRxCollection({
    collection: messages,
    ...troupeReplication('messages', { client, onRefused, collection: messages }),
  });
  replicateRxCollection({ collection: tasks, ...troupeReplication('tasks', { client, collection: tasks }) });
  const steps = troupeReplication('sub_agent_messages', { client, collection: sub_agent_messages });
  replicateRxCollection({ collection: sub_agent_messages, ...steps });
  return database;
}
