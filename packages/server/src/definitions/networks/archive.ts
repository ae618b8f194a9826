import {
  type Author,
  type Database,
  inTransaction,
  type NetworkRow,
  noteChange,
  readNetwork,
  setNetworkStatus,
} from '../../store/index.ts';
import { lockedNetwork } from './change.ts';

/** An archived network takes no new runs and is not changed; those that it has go on. */
export async function archiveNetwork(
  db: Database,
  author: Author,
  network: string,
  archived: boolean,
): Promise<NetworkRow> {
  return inTransaction(db, async (transaction) => {
    const rows = await lockedNetwork(transaction, author.project, network);
    const { id, name, status, current_version } = rows.network;
    if ((status === 'archived') === archived) return rows.network;
    const before = current_version === null ? 'draft' : 'published';
    await setNetworkStatus(transaction, id, archived ? 'archived' : before);
    const action = archived ? 'network.archived' : 'network.restored';
    await noteChange(transaction, author, { action, target: id, data: { name } });
    return (await readNetwork(transaction, author.project, id))!.network;
  });
}
