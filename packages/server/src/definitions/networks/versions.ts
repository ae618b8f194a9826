import type { Change } from '@troupe/protocol';
import { z } from 'zod';
import { type ListQuery, notFound, type Page, readPage } from '../../base/index.ts';
import {
  type Author,
  type Database,
  findNetwork,
  inTransaction,
  listNetworkVersions,
  type NetworkRow,
  type NetworkVersionRow,
  noteChange,
  readNetworkVersion,
  readWholeNetworkVersion,
  setCurrentNetworkVersion,
  type WholeNetworkVersionRow,
} from '../../store/index.ts';
import { lockedNetwork } from './change.ts';
import { noVersion } from './no-version.ts';
import { refuseArchived } from './publish.ts';
import { versionChanges } from './version-changes.ts';

export async function listVersionsOfNetwork(
  db: Database,
  project: string,
  network: string,
  query: ListQuery,
): Promise<Page<NetworkVersionRow>> {
  const { id } = await found(db, project, network);
  return readPage(query, {
    position: z.int().positive(),
    positionOf: ({ version }) => version,
    read: (before, limit) => listNetworkVersions(db.rows, project, id, { before, limit }),
  });
}

export async function diffVersionsOfNetwork(
  db: Database,
  project: string,
  network: string,
  { from, to }: { from: number; to: number },
): Promise<{ from: number; to: number; changes: Change[] }> {
  const old = await getVersionOfNetwork(db, project, network, from);
  const other = await getVersionOfNetwork(db, project, network, to);
  return { from, to, changes: versionChanges(old, other) };
}

/** Moves the pointer and nothing else: what is being edited stays, and runs stay pinned to theirs. */
export async function rollBackNetwork(
  db: Database,
  author: Author,
  network: string,
  version: number,
): Promise<NetworkVersionRow> {
  const { project } = author;
  return inTransaction(db, async (transaction) => {
    const rows = await lockedNetwork(transaction, project, network);
    refuseArchived(rows);
    const { id, name, current_version: from } = rows.network;
    const row = await readNetworkVersion(transaction, project, id, version);
    if (!row) throw noVersion(version);
    if (from !== version) {
      await setCurrentNetworkVersion(transaction, id, version);
      const data = { name, version, from };
      await noteChange(transaction, author, { action: 'network.rolled_back', target: id, data });
    }
    return { ...row, is_current: true };
  });
}

export async function getVersionOfNetwork(
  db: Database,
  project: string,
  network: string,
  version: number,
): Promise<WholeNetworkVersionRow> {
  const { id } = await found(db, project, network);
  const row = await readWholeNetworkVersion(db.rows, project, id, version);
  if (!row) throw noVersion(version);
  return row;
}

async function found(db: Database, project: string, network: string): Promise<NetworkRow> {
  const row = await findNetwork(db.rows, project, network);
  if (!row) throw notFound('network');
  return row;
}
