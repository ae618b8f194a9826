import type { SyncDocument } from '@troupe/protocol';
import { type Troupe, troupeCollections, troupeReplication } from '@troupe/sdk';
import { createRxDatabase, type RxCollection } from 'rxdb/plugins/core';
import { replicateRxCollection } from 'rxdb/plugins/replication';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';

/** Each is followed by a connection of its own, and browsers open six to a server: four leave two for everything else. */
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

  const opened = replicateRxCollection({
    collection: sessions,
    ...troupeReplication('sessions', { client, onRefused }),
  });
  replicateRxCollection({ collection: tasks, ...troupeReplication('tasks', { client }) });
  const steps = troupeReplication('sub_agent_messages', { client });
  replicateRxCollection({ collection: sub_agent_messages, ...steps });
  // A chat that was begun offline has to be there before what was said in it.
  const { push, ...said } = troupeReplication('messages', { client, onRefused });
  const handler: NonNullable<typeof push>['handler'] = async (rows) => {
    await opened.awaitInSync();
    return push!.handler(rows);
  };
  replicateRxCollection({ collection: messages, ...said, push: { ...push!, handler } });
  return database;
}
