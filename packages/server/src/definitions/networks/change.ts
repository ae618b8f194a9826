import type { JsonObject, NetworkDefinition } from '@troupe/protocol';
import { notFound, Refusal } from '../../base/index.ts';
import {
  type Author,
  type Database,
  insertNetwork,
  inTransaction,
  isTaken,
  lockNetwork,
  type NetworkRows,
  noteChange,
  type Transaction,
  writeDefinition,
} from '../../store/index.ts';
import { changesBetween } from './changes.ts';
import { checkDefinition } from './check.ts';
import { definitionOf } from './definition.ts';

/** The audit log is told where, of a change, and not all that there is to tell. */
const MOST_TOLD = 50;

/** One transaction, and a name that is taken told as such. */
export async function changingNetworks<Result>(
  db: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(db, work);
  } catch (error) {
    throw isTaken(error, 'networks_name') ? nameTaken(error) : error;
  }
}

export async function lockedNetwork(
  transaction: Transaction,
  project: string,
  idOrName: string,
): Promise<NetworkRows> {
  const rows = await lockNetwork(transaction, project, idOrName);
  if (!rows) throw notFound('network');
  return rows;
}

/** A new draft of a definition that was checked. `data` is for the audit log. */
export async function addNetwork(
  transaction: Transaction,
  author: Author,
  definition: NetworkDefinition,
  data: JsonObject = {},
): Promise<NetworkRows> {
  const { project } = author;
  const empty = await insertNetwork(transaction, project, definition);
  const rows = await writeDefinition(transaction, { project, rows: empty }, definition);
  const target = rows.network.id;
  await noteChange(transaction, author, {
    action: 'network.created',
    target,
    data: { name: definition.name, ...data },
  });
  return rows;
}

/** Makes a locked network what a definition says that was checked; nothing where nothing differs. */
export async function changeNetwork(
  transaction: Transaction,
  author: Author,
  {
    rows,
    before,
    definition,
  }: { rows: NetworkRows; before: NetworkDefinition; definition: NetworkDefinition },
): Promise<NetworkRows> {
  const { project } = author;
  if (rows.network.status === 'archived') throw archived();
  const written = await writeDefinition(transaction, { project, rows }, definition);
  if (written === rows) return rows;
  const changed = changesBetween(before, definition).map(({ path }) => path);
  const data = {
    name: definition.name,
    changed: changed.slice(0, MOST_TOLD),
    ...(changed.length > MOST_TOLD ? { more: changed.length - MOST_TOLD } : {}),
  };
  await noteChange(transaction, author, { action: 'network.changed', target: rows.network.id, data });
  return written;
}

interface Edit {
  definition: NetworkDefinition;
  /** Where in the request a place of the definition stands. */
  at?: ((path: string) => string) | undefined;
}

/** Under the lock of the network: read it as a definition, have it changed, write what differs. */
export async function editNetwork(
  db: Database,
  author: Author,
  idOrName: string,
  edit: (before: NetworkDefinition, rows: NetworkRows) => Edit,
): Promise<NetworkRows> {
  return changingNetworks(db, async (transaction) => {
    const rows = await lockedNetwork(transaction, author.project, idOrName);
    if (rows.network.status === 'archived') throw archived();
    const before = definitionOf(rows);
    const { definition: given, at } = edit(before, rows);
    const options = at ? { before, at } : { before };
    const definition = await checkDefinition(transaction, author.project, given, options);
    return changeNetwork(transaction, author, { rows, before, definition });
  });
}

function archived(): Refusal {
  return new Refusal('conflict', 'network_archived', 'The network is archived.', {
    hint: 'Take it out of the archive first: POST /v1/networks/{network}/archive with {"archived": false}.',
  });
}

function nameTaken(cause: unknown): Refusal {
  return new Refusal('conflict', 'name_taken', 'Another network of the project has this name.', {
    hint: 'Names are compared without regard to case, and archived networks keep theirs.',
    issues: [{ path: 'name', message: 'is taken' }],
    cause,
  });
}
